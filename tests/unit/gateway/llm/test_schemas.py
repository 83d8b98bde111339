"""Replies in the form of a schema, as labelled lines, cut off, or in no form at all."""

import json
from typing import Any

import pytest
import structlog
from pydantic import ValidationError

from bench.node import says
from chassis.errors import LoreglassError
from gateway.llm.completion import Assembly, Completion
from gateway.llm.reading import whole
from gateway.llm.reply_forms import in_lines, json_schema_of
from gateway.llm.schemas import (
    MAX_QUERIES,
    MAX_STEPS,
    Answerability,
    ChainOfThought,
    Structured,
    Understanding,
)
from gateway.llm.server import VlmReplyUnusable
from gateway.pipelines.qa_dragon.model import EntityMatch, ObjectChoice, ObjectList, QuerySplit, ToolChoice
from gateway.state import Tool
from tests.unit.gateway.llm.stage import ASK, bench, deadline, nothing_printed
from tests.unit.gateway.llm.test_prompts import STAGES
from tests.unit.gateway.scripted_model import chunk

SCHEMAS: list[type[Structured]] = [
    ChainOfThought,
    *(schema for name, schema in STAGES.items() if not name.startswith("three_step/")),
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas_are_closed_and_bounded(schema: type[Structured]) -> None:
    closed = json_schema_of(schema)
    assert list(closed["properties"]) == list(schema.model_fields)
    omitted = {name for name, field in schema.model_fields.items() if not field.is_required()}
    may_be_missing = omitted if schema.omits_defaults else set()
    assert set(closed["properties"]) - set(closed["required"]) == may_be_missing
    assert closed["additionalProperties"] is False
    assert not {"maxLength", "maxItems"} & {key for node in nodes(closed) for key in node}
    for node in nodes(schema.model_json_schema()):
        if node.get("type") == "string" and "enum" not in node:
            assert node["maxLength"] <= 400
        if node.get("type") == "array":
            assert node["maxItems"] <= 8


def nodes(node: Any) -> list[dict[str, Any]]:
    """Every object in a JSON schema."""
    if isinstance(node, list):
        return [inside for item in node for inside in nodes(item)]
    if not isinstance(node, dict):
        return []
    return [node, *(inside for inner in node.values() for inside in nodes(inner))]


def test_long_values_are_cut() -> None:
    long = {"reasoning": ["s" * 999] * 99, "answer": "a" * 999, "text_search": ["q" * 999] * 99}
    read = Understanding.model_validate(long)
    assert (len(read.reasoning), len(read.text_search)) == (MAX_STEPS, MAX_QUERIES)
    assert max(len(text) for text in [*read.reasoning, *read.text_search, read.answer or ""]) <= 400


@pytest.mark.parametrize("schema", SCHEMAS)
def test_another_kind_of_object_is_not_taken_for_a_reply(schema: type[Structured]) -> None:
    with pytest.raises(ValidationError):
        schema.model_validate({"error": "x"})


SPELLINGS: list[tuple[type[Structured], str, dict[Any, Any]]] = [
    (ChainOfThought, "answerability", {"In Photo": Answerability.IN_PHOTO, "check": Answerability.CHECK}),
    (ChainOfThought, "answerability", dict.fromkeys(("certainly!", "null"), Answerability.LOOK_UP)),
    (ChainOfThought, "entity", dict.fromkeys(('"null"', "None", "n/a", "unknown", " ", "null"))),
    (ToolChoice, "tools", {"image_search, text_search": [Tool.IMAGE_SEARCH, Tool.TEXT_SEARCH], "{}": []}),
    (ToolChoice, "tools", {'["Image Search", "rm -rf", 3]': [Tool.IMAGE_SEARCH]}),
    (EntityMatch, "candidate", {"2": 2, '"2"': 2, '["2", "piece 4"]': 2, "piece 4": 4, '[{"a": 1}]': 1}),
    (EntityMatch, "candidate", {'"[3, 1]"': 3} | dict.fromkeys(("none", "null", '""', "[]", "-1", '"-1"'))),
    (Understanding, "image_search", {"car": "car", '["car", "van"]': "car", "true": "thing"}),
    (Understanding, "image_search", dict.fromkeys(("[]", '"null"', "false"))),
    (Understanding, "text_search", {"true": [], "false": [], "null": [], "[]": []}),
    (Understanding, "answer", {"42": "42"}),
    (Understanding, "reasoning", {"one\ntwo": ["one", "two"]}),
]
"""By schema and field: what models write, as JSON or a bare string, and how it is read."""


def as_written(text: str) -> Any:
    """Return the JSON value, or the text itself if it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@pytest.mark.parametrize(
    ("schema", "field", "written", "read"),
    [(schema, field, *case) for schema, field, cases in SPELLINGS for case in cases.items()],
)
def test_a_field_is_read_in_any_spelling(
    schema: type[Structured], field: str, written: str, read: Any
) -> None:
    others: dict[str, Any] = {
        next(iter(schema.model_fields)): [] if "reasoning" in schema.model_fields else ""
    }
    assert getattr(schema.model_validate(others | {field: as_written(written)}), field) == read


def test_draft_omits_default_fields() -> None:
    read = Understanding(reasoning=["A sign."], answerability=Answerability.IN_PHOTO)
    assert json.loads(read.as_json()) == {"reasoning": ["A sign."], "answerability": "in_photo"}
    assert Understanding.model_validate_json(read.as_json()) == read


def completion_of(text: str, schema: type[Structured], reason: str = "stop") -> Completion[Structured]:
    assembly: Assembly[Structured] = Assembly(schema)
    assembly.add(chunk(text, reason))
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
def test_line_reply_is_parsed(reply: Structured) -> None:
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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"reason": "It barks.", "object_label": "dog}', "stop"),
        ("reason: It barks.\nobject_label: do", "length"),
    ],
)
def test_a_reply_that_was_left_open_or_cut_loses_its_last_field(text: str, reason: str) -> None:
    assert whole(completion_of(text, ObjectChoice, reason)) == ObjectChoice(reason="It barks.")


LOOK = {
    "reasoning": ["It is a Fiat 500."],
    "entity": "Fiat 500",
    "answer": "Turin.",
    "answerability": "check",
}
GOOD: dict[type[Structured], dict[str, Any]] = {
    Understanding: LOOK | {"image_search": "car", "text_search": ["Where was Fiat founded?", "When was it?"]},
    ChainOfThought: LOOK | {"object_label": "car"},
    ObjectList: {"objects": ["car", "dog"]},
    QuerySplit: {"reason": "One fact.", "queries": ["Where was Fiat founded?"]},
}


@pytest.mark.parametrize("schema", GOOD)
def test_a_cut_reply_is_read_as_far_as_it_is_complete(schema: type[Structured]) -> None:
    text = json.dumps(GOOD[schema])
    complete = schema.model_validate(GOOD[schema])
    for length in range(1, len(text)):
        read = cut_off(schema, text[:length])
        if read is None:
            continue
        for field, details in schema.model_fields.items():
            held, meant = getattr(read, field), getattr(complete, field)
            if isinstance(held, list):
                assert held == meant[: len(held)]
            elif details.is_required():
                assert meant.startswith(held)
            else:
                assert held in (meant, details.default), (field, text[:length])


def cut_off(schema: type[Structured], text: str) -> Structured | None:
    """What is read of a reply that ended here for its length; None if it is refused."""
    try:
        return whole(completion_of(text, schema, "length"))
    except LoreglassError:
        return None


async def test_replies_are_not_logged() -> None:
    secret = "Zanzibar"
    with structlog.testing.capture_logs() as entries:
        async with bench({"understand": [says(f"{secret} {LOOK}"), says(secret)]}) as it:
            with pytest.raises(LoreglassError) as caught:
                await it.reasoner.draft(ASK, None, nothing_printed, deadline())
    assert entries
    assert secret not in f"{caught.value.detail} {entries}"
