"""Malformed replies are read rightly or refused, not wrongly; `malformed.py` makes them."""

import json
import random
from collections import Counter

import pytest

from gateway.llm.assembly import Assembly
from gateway.llm.failures import VlmReplyUnusable
from gateway.llm.lines import in_lines
from gateway.llm.reading import whole
from gateway.llm.schemas import GroundedAnswer, Judgement, Structured
from gateway.llm.wire import ChoiceWire, ChunkWire, MessageWire
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
        "reason: It says so.\nanswer: 31 m.\nanswer: 13 m.\nevidence: 1",  # two answers
        "I think that the answer: is 31 m.",
        "answer: 31 m.",  # one label may stand in any prose
        f"reason: {GroundedAnswer.model_fields['reason'].description}\nanswer: none\nevidence: none",
        '{"reason": "Piece 1", "answer": "31 m" "evidence": [1]}',
        '{"reason": "Piece 1", "answer": "31 m, "evidence": [1]}',
    ],
)
def test_what_could_mean_two_things_is_refused(text: str) -> None:
    with pytest.raises(VlmReplyUnusable):
        read(text, GroundedAnswer)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("reason: a\nanswer: The tower is\n31 m tall.\n", "The tower is 31 m tall."),
        ("reason: a\nanswer: 31 m.\n\nI hope that helps.", "31 m."),
        ("**Reason:** a\n**Answer:** 31 m.\n", "31 m."),
        ("REASON = a\nANSWER = 31 m.", "31 m."),
        ("<think>reason: no\nanswer: no</think>\nreason: a\nanswer: 31 m.", "31 m."),
        ('reason: a\nanswer: "Blue Hen" is its name.', '"Blue Hen" is its name.'),
        ('reason: a\nanswer: "the "Blue Hen" inn"', 'the "Blue Hen" inn'),
        ("reason: a\r\nanswer: 31 m.\r\nevidence: 1, 3\r\n", "31 m."),
    ],
)
def test_labelled_lines_are_read_however_they_are_decorated(text: str, answer: str) -> None:
    found = read(text, GroundedAnswer)
    assert isinstance(found, GroundedAnswer)
    assert found.answer == answer


def test_an_object_that_the_model_left_open_loses_what_it_was_writing() -> None:
    assembly = Assembly(GroundedAnswer)
    text = '{"reason": "It says so.", "answer": "31 m}'
    assembly.add(ChunkWire(choices=[ChoiceWire(delta=MessageWire(content=text), finish_reason="stop")]))
    assert whole(assembly.completion()) == GroundedAnswer(reason="It says so.", answer=None)


def test_the_place_of_a_value_in_lines_is_known() -> None:
    assembly = Assembly(Judgement)
    text = "reason: Piece 1 says so.\n**Verdict:** incorrect\n"
    assembly.add(ChunkWire(choices=[ChoiceWire(delta=MessageWire(content=text), finish_reason="stop")]))
    start, end = assembly.completion().spans["verdict"]
    assert text[start:end] == "incorrect"


def test_good_json_is_read_as_json_reads_it() -> None:
    draw = random.Random(5)
    for schema, made in FORMS.items():
        for _ in range(100):
            reply = made(draw)
            assert read(json.dumps(reply), schema) == schema.model_validate(reply)
