"""One schema for prompt and parser: strict in what is asked, forgiving in what is read."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.llm.schema_forms import json_schema_of
from gateway.llm.schemas import (
    MAX_QUERIES,
    MAX_STEPS,
    Answerability,
    ChainOfThought,
    Structured,
    Understanding,
)
from gateway.pipelines.qa_dragon.model import EntityMatch, ToolChoice
from gateway.state import Tool
from tests.unit.gateway.llm.test_prompts import STAGES

SCHEMAS: list[type[Structured]] = [
    ChainOfThought,
    *(schema for name, schema in STAGES.items() if not name.startswith("three_step/")),
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_is_asked_is_closed_and_bounded(schema: type[Structured]) -> None:
    asked = json_schema_of(schema)
    assert list(asked["properties"]) == list(schema.model_fields)
    omitted = {name for name, field in schema.model_fields.items() if not field.is_required()}
    may_be_missing = omitted if schema.omits_defaults else set()
    assert set(asked["properties"]) - set(asked["required"]) == may_be_missing
    assert asked["additionalProperties"] is False
    assert not {"maxLength", "maxItems"} & {key for node in nodes(asked) for key in node}
    for node in nodes(schema.model_json_schema()):
        if node.get("type") == "string" and "enum" not in node:
            assert node["maxLength"] <= 400
        if node.get("type") == "array":
            assert node["maxItems"] <= 8


def nodes(node: Any) -> list[dict[str, Any]]:
    """Every object in a JSON schema."""
    if isinstance(node, list):
        return [found for item in node for found in nodes(item)]
    if not isinstance(node, dict):
        return []
    return [node, *(found for inner in node.values() for found in nodes(inner))]


def test_what_is_too_long_is_cut() -> None:
    read = Understanding.model_validate(
        {
            "reasoning": ["s" * 999] * 99,
            "image_search": "l" * 999,
            "answer": "a" * 999,
            "text_search": ["q" * 999] * 99,
        }
    )
    assert len(read.reasoning) == MAX_STEPS
    assert len(read.text_search) == MAX_QUERIES
    assert max(len(text) for text in [*read.reasoning, *read.text_search, read.answer or ""]) <= 400


@pytest.mark.parametrize("schema", SCHEMAS)
def test_another_kind_of_object_is_not_taken_for_a_reply(schema: type[Structured]) -> None:
    with pytest.raises(ValidationError):
        schema.model_validate({"error": "x"})


@pytest.mark.parametrize(
    ("written", "flag"),
    [
        ("In Photo", Answerability.IN_PHOTO),
        ("in-photo", Answerability.IN_PHOTO),
        ("check", Answerability.CHECK),
        ("certainly!", Answerability.LOOK_UP),
        (None, Answerability.LOOK_UP),
    ],
)
def test_an_answerability_that_is_unknown_claims_least(written: Any, flag: Answerability) -> None:
    assert ChainOfThought.model_validate({"reasoning": [], "answerability": written}).answerability is flag


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        (["image_search", "rm -rf", 3], [Tool.IMAGE_SEARCH]),
        ("image_search, text_search", [Tool.IMAGE_SEARCH, Tool.TEXT_SEARCH]),
        (["Text Search"], [Tool.TEXT_SEARCH]),
        (None, []),
        ({}, []),
    ],
)
def test_only_known_tools_are_read(written: Any, tools: list[Tool]) -> None:
    assert ToolChoice.model_validate({"reason": "", "tools": written}).tools == tools


@pytest.mark.parametrize(
    ("written", "number"),
    [
        *((2, 2), ("2", 2), ("none", None), (None, None), ("", None), ([], None)),
        *((["2", "piece 4"], 2), ("piece 4", 4), ("[3, 1]", 3), ([{"a": 1}], 1)),
    ],
)
def test_a_candidate_is_a_number_or_none(written: Any, number: int | None) -> None:
    assert EntityMatch.model_validate({"reason": "", "candidate": written}).candidate == number


@pytest.mark.parametrize("written", ["null", "None", "n/a", "unknown", " ", None])
def test_a_name_that_means_nothing_is_null(written: str | None) -> None:
    assert ChainOfThought.model_validate({"reasoning": [], "entity": written}).entity is None


def test_numbers_and_lines_are_taken_for_the_text_they_are() -> None:
    read = Understanding.model_validate_json(json.dumps({"reasoning": "one\ntwo", "answer": 42}))
    assert read.reasoning == ["one", "two"]
    assert read.answer == "42"


def test_a_first_look_spells_only_the_fields_that_hold_something() -> None:
    read = Understanding(reasoning=["A sign."], answer="Exit.", answerability=Answerability.IN_PHOTO)
    assert json.loads(read.spelled()) == {
        "reasoning": ["A sign."],
        "answer": "Exit.",
        "answerability": "in_photo",
    }
    assert Understanding.model_validate_json(read.spelled()) == read
    unsaid = Understanding.model_validate({"reasoning": ["A car."]})
    assert json.loads(unsaid.spelled()) == {"reasoning": ["A car."]}
    assert unsaid.answerability is Answerability.LOOK_UP


@pytest.mark.parametrize(
    ("written", "sought"),
    [("car", "car"), (["car", "van"], "car"), ([], None), ("null", None), (False, None), (True, "thing")],
)
def test_what_pictures_are_searched_for_is_read_in_any_spelling(written: Any, sought: str | None) -> None:
    assert Understanding.model_validate({"reasoning": [], "image_search": written}).image_search == sought


@pytest.mark.parametrize("written", [True, False, None, []])
def test_a_text_search_for_nothing_is_none(written: Any) -> None:
    assert Understanding.model_validate({"reasoning": [], "text_search": written}).text_search == []
