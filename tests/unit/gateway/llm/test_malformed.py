"""Malformed replies are read rightly or refused, not wrongly; `malformed.py` makes them."""

import json
import random
from collections import Counter

import pytest

from gateway.llm.assembly import Assembly
from gateway.llm.failures import VlmReplyUnusable
from gateway.llm.lines import in_lines
from gateway.llm.reading import whole
from gateway.llm.schemas import Structured
from gateway.llm.wire import ChoiceWire, ChunkWire, MessageWire
from gateway.pipelines.qa_dragon.model import ObjectChoice
from tests.unit.gateway.llm.malformed import FORMS, corpus, outcome

EACH = 300


def read(text: str, schema: type[Structured]) -> Structured:
    assembly = Assembly(schema)
    assembly.add(ChunkWire(choices=[ChoiceWire(delta=MessageWire(content=text), finish_reason="stop")]))
    return assembly.completion().value


@pytest.mark.parametrize("lines", [False, True], ids=["JSON", "lines"])
@pytest.mark.parametrize("seed", [16, 17])
def test_of_malformed_replies_most_are_read_and_next_to_none_wrongly(seed: int, lines: bool) -> None:
    counted = Counter(outcome(reply) for reply in corpus(seed, EACH, lines=lines))
    replies = EACH * len(FORMS)
    assert counted["wrong"] <= replies * (0 if lines else 0.004), counted
    assert counted["right"] >= replies * (0.78 if lines else 0.66), counted
    assert counted["refused"] <= replies * (0.18 if lines else 0.23), counted


@pytest.mark.parametrize("schema", FORMS)
def test_what_is_shown_as_a_reply_in_lines_is_read_back(schema: type[Structured]) -> None:
    draw = random.Random(3)
    for _ in range(50):
        meant = schema.model_validate(FORMS[schema](draw))
        assert read(in_lines(meant.model_dump(mode="json")), schema) == meant


@pytest.mark.parametrize(
    "text",
    [
        "reason: It is in front.\nobject_label: dog\nobject_label: cat",  # two labels
        "I think that the object_label: is dog.",
        "object_label: dog",  # one label may stand in any prose
        f"reason: {ObjectChoice.model_fields['reason'].description}\nobject_label: none",
        '{"reason": "It barks" "object_label": "dog"}',
        '{"reason": "It barks, "object_label": "dog"}',
    ],
)
def test_what_could_mean_two_things_is_refused(text: str) -> None:
    with pytest.raises(VlmReplyUnusable):
        read(text, ObjectChoice)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("reason: a\nobject_label: The dog with\nthe red collar\n", "The dog with the red collar"),
        ("reason: a\nobject_label: dog\n\nI hope that helps.", "dog"),
        ("**Reason:** a\n**Object label:** dog\n", "dog"),
        ("REASON = a\nOBJECT_LABEL = dog", "dog"),
        ("<think>reason: no\nobject_label: cat</think>\nreason: a\nobject_label: dog", "dog"),
        ('reason: a\nobject_label: "Blue Hen" sign', '"Blue Hen" sign'),
        ('reason: a\nobject_label: "the "Blue Hen" sign"', 'the "Blue Hen" sign'),
        ("reason: a\r\nobject_label: dog\r\n", "dog"),
    ],
)
def test_labelled_lines_are_read_however_they_are_decorated(text: str, label: str) -> None:
    found = read(text, ObjectChoice)
    assert isinstance(found, ObjectChoice)
    assert found.object_label == label


def test_an_object_that_the_model_left_open_loses_what_it_was_writing() -> None:
    assembly = Assembly(ObjectChoice)
    text = '{"reason": "It barks.", "object_label": "dog}'
    assembly.add(ChunkWire(choices=[ChoiceWire(delta=MessageWire(content=text), finish_reason="stop")]))
    assert whole(assembly.completion()) == ObjectChoice(reason="It barks.", object_label=None)


def test_the_place_of_a_value_in_lines_is_known() -> None:
    assembly = Assembly(ObjectChoice)
    text = "reason: It barks.\n**Object label:** dog\n"
    assembly.add(ChunkWire(choices=[ChoiceWire(delta=MessageWire(content=text), finish_reason="stop")]))
    start, end = assembly.completion().spans["object_label"]
    assert text[start:end] == "dog"


def test_good_json_is_read_as_json_reads_it() -> None:
    draw = random.Random(5)
    for schema, made in FORMS.items():
        for _ in range(100):
            reply = made(draw)
            assert read(json.dumps(reply), schema) == schema.model_validate(reply)
