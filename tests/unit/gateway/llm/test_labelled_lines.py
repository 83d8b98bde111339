"""Replies as labelled lines: what is shown is read back, and what could mean two things is refused."""

import pytest

from gateway.llm.assembly import Assembly
from gateway.llm.completion import Completion
from gateway.llm.failures import VlmReplyUnusable
from gateway.llm.lines import in_lines
from gateway.llm.reading import whole
from gateway.llm.schemas import Answerability, Structured, Understanding
from gateway.llm.wire import ChoiceWire, ChunkWire, MessageWire
from gateway.pipelines.qa_dragon.model import ObjectChoice, QuerySplit


def completion_of(text: str, schema: type[Structured], reason: str = "stop") -> Completion[Structured]:
    assembly = Assembly(schema)
    assembly.add(ChunkWire(choices=[ChoiceWire(delta=MessageWire(content=text), finish_reason=reason)]))
    return assembly.completion()


@pytest.mark.parametrize(
    "reply",
    [
        Understanding(
            reasoning=['The sign says: the "Blue Hen" inn.', "It should be checked."],
            answer="It costs 3.60, with oat milk.",
            answerability=Answerability.CHECK,
            text_search=["When was {entity} built?", "Who built it?"],
        ),
        Understanding(reasoning=["A car."]),
        QuerySplit(reason="One fact: its height.", queries=[]),
        ObjectChoice(reason="In front.", object_label=None),
    ],
)
def test_a_reply_in_lines_is_read_back(reply: Structured) -> None:
    assert completion_of(in_lines(reply.model_dump(mode="json")), type(reply)).value == reply


@pytest.mark.parametrize(
    "text",
    [
        "reason: It is in front.\nobject_label: dog\nobject_label: cat",  # two labels
        "I think that the object_label: is dog.",
        "object_label: dog",  # one label may stand in any prose
        f"reason: {ObjectChoice.model_fields['reason'].description}\nobject_label: none",
        '{"reason": "It barks" "object_label": "dog"}',
        '```json\n{"reason": "It barks", "object_label": "dog"}\n```',
    ],
)
def test_an_ambiguous_or_malformed_reply_is_refused(text: str) -> None:
    with pytest.raises(VlmReplyUnusable):
        whole(completion_of(text, ObjectChoice))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("reason: a\nobject_label: The dog with\nthe red collar\n", "The dog with the red collar"),
        ("reason: a\nobject_label: dog\n\nI hope that helps.", "dog"),
        ("**Reason:** a\n**Object label:** dog\n", "dog"),
        ("REASON = a\nOBJECT_LABEL = dog", "dog"),
        ("<think>reason: no\nobject_label: cat</think>\nreason: a\nobject_label: dog", "dog"),
        ('<think>{"a": 1}</think>\n{"reason": "a", "object_label": "dog"}', "dog"),
        ('reason: a\nobject_label: "Blue Hen" sign', '"Blue Hen" sign'),
        ('reason: a\nobject_label: "the "Blue Hen" sign"', 'the "Blue Hen" sign'),
        ("reason: a\r\nobject_label: dog\r\n", "dog"),
    ],
)
def test_decorated_lines_are_read(text: str, label: str) -> None:
    completion = completion_of(text, ObjectChoice)
    assert isinstance(completion.value, ObjectChoice)
    assert completion.value.object_label == label
    if "\nthe red" not in text:
        start, end = completion.spans["object_label"]
        assert text[start:end] == label


def test_an_object_that_the_model_left_open_loses_its_last_field() -> None:
    text = '{"reason": "It barks.", "object_label": "dog}'
    assert whole(completion_of(text, ObjectChoice)) == ObjectChoice(reason="It barks.", object_label=None)


def test_a_cut_reply_in_lines_loses_its_last_field() -> None:
    text = "reason: It barks.\nobject_label: do"
    assert whole(completion_of(text, ObjectChoice, "length")) == ObjectChoice(reason="It barks.")
