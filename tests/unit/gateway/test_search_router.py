"""The search router and the tool router."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.calibration import LogisticCurve
from chassis.resilience.deadlines import Deadline
from chassis.startup import WrongSettings
from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.pipelines.qa_dragon.model import (
    EVERY_TOOL,
    StepwiseVlmReasoner,
    choose_tools,
    names_itself,
    within_rules,
)
from gateway.planning.run import Run
from gateway.state import Draft, Query, Tool
from gateway.steps.routing import FEATURES, SearchRouter, router_features
from gateway.thresholds import load_thresholds
from language.words import hedges
from tests.unit.gateway.pipelines import PHOTO
from tests.unit.gateway.reasoners import direct_draft, lookup_draft
from tests.unit.gateway.scripted_model import ScriptedModel

THRESHOLDS = load_thresholds()
ROUTER = SearchRouter()
ARTEFACT: dict[str, Any] = {
    "format": 1,
    "date": "2026-11-23",
    "intercept": -2.0,
    "coefficients": dict.fromkeys(FEATURES, 0.0) | {"confidence": 4.0},
    "constant": ["quoted"],
    "fitted_on": [{"file": "drafts.jsonl", "drafts": 60}],
    "held_out": {"aurc": 0.1, "own_aurc": 0.2, "calibration_error": 0.05, "own_calibration_error": 0.1},
}


def draft(answer: str | None, reasoning: str, confidence: float = 0.92, **changes: Any) -> Draft:
    """A model's draft, without quotes and without tools."""
    fields = {"object_label": None, "tools": frozenset(), "sub_queries": (), **changes}
    return lookup_draft(answer=answer, reasoning=reasoning, confidence=confidence, **fields)


def routed(made: Draft, router: SearchRouter = ROUTER) -> Route:
    return router.choose(made, THRESHOLDS)


def artefact(folder: Path, **changes: Any) -> Path:
    path = folder / "router.json"
    path.write_text(json.dumps({**ARTEFACT, **changes}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        *("I don’t know which one it is.", "The maker is not visible.", "It is most likely a lamp."),
        *("Lamps like this typically cost 40.", "It is either a lamp or a vase."),
    ],
)
def test_hedged_answer_is_recognised(text: str) -> None:
    assert hedges(text)
    assert not hedges("The lamp stands beside a chair.")


def test_quoted_print_is_not_hedging() -> None:
    sign = direct_draft("It says: maybe today.", quotes=("maybe today",))
    assert router_features(sign).speculates == 0
    assert router_features(replace(sign, quotes=())).speculates == 1


def test_numbers_and_names_are_seen_in_the_answer() -> None:
    assert router_features(draft("It has 48 pages.", "")).number == 1
    assert router_features(draft("It was written by Mira Holm.", "")).named == 1
    for text in ("It is green.", "Green.", "Yes, it is."):
        plain = router_features(draft(text, "Mira Holm counted 48."))
        assert (plain.number, plain.named) == (0, 0)


@pytest.mark.parametrize(
    ("made", "route"),
    [
        (direct_draft(), Route.DIRECT),
        (direct_draft(confidence=THRESHOLDS.direct_confidence - 0.01), Route.VERIFY),
        (direct_draft(confidence=None), Route.RAG),
        (draft("It is green.", "The left one.", self_contained=True, entity="Rowan House"), Route.DIRECT),
        (draft("It is green.", "The left one.", self_contained=True), Route.VERIFY),
        (draft("48", "The sheet reads 12 x 4. That is 48.", self_contained=True), Route.VERIFY),
        (draft("In 1974.", "It is a Golf, made since 1974.", entity="Volkswagen Golf"), Route.VERIFY),
        (draft("It was Ludwig Maier.", "It is his castle.", self_contained=True), Route.VERIFY),
        (draft("It is green.", "It seems to be the left one.", self_contained=True), Route.VERIFY),
        (draft("About 40.", "No brand is visible. Lamps usually cost about 40.", 0.4), Route.RAG),
        (draft("I don't know.", "The name is hidden."), Route.RAG),
        (draft(None, "The name is hidden."), Route.RAG),
        (draft(" ", "The name is hidden."), Route.RAG),
    ],
)
def test_a_draft_takes_its_branch_of_table_1(made: Draft, route: Route) -> None:
    assert routed(made) is route


def test_certain_router_still_searches_unmeasured_drafts() -> None:
    certain = SearchRouter(LogisticCurve(30.0, (0.0,) * len(FEATURES)))
    assert routed(direct_draft(confidence=None), certain) is Route.RAG
    assert routed(direct_draft(self_contained=False), certain) is Route.VERIFY


def test_thresholds_of_the_file_decide() -> None:
    never = replace(THRESHOLDS, direct_from=1.0)
    assert ROUTER.choose(direct_draft(), never) is Route.VERIFY
    assert ROUTER.choose(direct_draft(), replace(never, verify_from=1.0)) is Route.RAG


def test_the_curve_of_an_artefact_decides_in_place_of_the_drafts_confidence(tmp_path: Path) -> None:
    strict = SearchRouter.load(artefact(tmp_path, intercept=-4.0))
    lenient = SearchRouter.load(artefact(tmp_path, intercept=0.0))
    assert (routed(direct_draft(), strict), routed(direct_draft(), lenient)) == (Route.RAG, Route.DIRECT)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "format"),
        ({"coefficients": {"confidence": 4.0}}, "other features"),
        ({"coefficients": dict.fromkeys(reversed(FEATURES), 0.0)}, "other features"),
        ({"coefficients": {**ARTEFACT["coefficients"], "mood": 1.0}}, "other features"),
        ({"intercept": float("nan")}, "intercept"),
        ({"intercept": "-2"}, "intercept"),
        ({"note": "mine"}, "unknown field"),
    ],
    ids=["format", "fewer", "order", "more", "nan", "text", "unknown"],
)
def test_a_file_of_another_router_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(WrongSettings, match=message):
        SearchRouter.load(artefact(tmp_path, **changes))
    with pytest.raises(WrongSettings, match="cannot be read"):
        SearchRouter.load(tmp_path / "none.json")


@given(
    answer=st.none() | st.text(max_size=80),
    reasoning=st.text(max_size=80),
    confidence=st.floats(0, 1),
    self_contained=st.booleans(),
    tools=st.frozensets(st.sampled_from(Tool)),
    quotes=st.lists(st.text(max_size=20), max_size=2),
)
def test_more_confidence_never_needs_more_search(
    answer: str | None,
    reasoning: str,
    confidence: float,
    self_contained: bool,
    tools: frozenset[Tool],
    quotes: list[str],
) -> None:
    made = draft(
        answer, reasoning, confidence, self_contained=self_contained, tools=tools, quotes=tuple(quotes)
    )
    route, surer = routed(made), routed(replace(made, confidence=1.0))
    order = [Route.RAG, Route.VERIFY, Route.DIRECT]
    assert order.index(route) <= order.index(surer)
    assert route is Route.RAG or (answer is not None and answer.strip())
    assert all(0 <= value <= 1 for value in router_features(made))


TEXT, IMAGE = frozenset({Tool.TEXT_SEARCH}), frozenset({Tool.IMAGE_SEARCH})
UNKNOWN_LAMP = lookup_draft(object_label="lamp")


@pytest.mark.parametrize(
    "question",
    [
        "What is 12 x 14?",
        "Solve the second equation.",
        "Translate this sign.",
        "What does sortie mean in English?",
    ],
)
async def test_arithmetic_and_translation_need_no_tool_and_no_model_call(question: str) -> None:
    model, run = ScriptedModel({}), Run("t", Deadline.after_ms(9_000))
    chosen = await choose_tools(StepwiseVlmReasoner(model), Query(question, PHOTO), UNKNOWN_LAMP, None, run)
    assert (chosen, model.prompts) == (frozenset(), [])


BY_ITSELF = ("book", "old books", "cereal box", "Can", "bottles", "potted plant", "leaves")


@pytest.mark.parametrize(
    ("label", "domain", "by_itself"),
    [
        *((label, None, True) for label in BY_ITSELF),
        *((label, None, False) for label in ("red car", "handbag", None)),
        ("statue", Domain.BOOK, False),
        (None, Domain.BOOK, True),
        (None, Domain.PLANTS_AND_GARDENING, True),
        (None, Domain.VEHICLE, False),
    ],
)
def test_books_packages_and_plants_need_no_image_search(
    label: str | None, domain: Domain | None, by_itself: bool
) -> None:
    assert names_itself(label, domain) is by_itself
    tools = within_rules(Query("Who made this?", PHOTO), lookup_draft(object_label=label), domain, EVERY_TOOL)
    assert tools == (TEXT if by_itself else EVERY_TOOL)


NAMED_CAR = lookup_draft(object_label="car", entity="Volkswagen Golf")
FROM_OUTSIDE = (
    "Calculate how far this car goes on 5 gallons of gas.",
    "How much does this cost altogether today?",
    "Which country translated this book first?",
)


@pytest.mark.parametrize(
    ("query", "draft", "chosen", "tools"),
    [
        *((Query(question, PHOTO), UNKNOWN_LAMP, EVERY_TOOL, EVERY_TOOL) for question in FROM_OUTSIDE),
        (Query("How fast is it?", PHOTO), NAMED_CAR, EVERY_TOOL, TEXT),
        (Query("How fast is it?", None), UNKNOWN_LAMP, EVERY_TOOL, TEXT),
        *((Query("Who made this?", PHOTO), UNKNOWN_LAMP, few, few) for few in (TEXT, IMAGE, frozenset())),
    ],
)
def test_tool_rules_only_remove_unneeded_tools(
    query: Query, draft: Draft, chosen: frozenset[Tool], tools: frozenset[Tool]
) -> None:
    assert within_rules(query, draft, None, chosen) == tools
