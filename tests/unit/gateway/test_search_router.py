"""The search router: features that say what they mean, and branches that follow Table 1."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.state import Draft, Query, Tool
from gateway.steps.routing import SearchRouter
from gateway.steps.routing.cues import Cue, fold
from gateway.steps.routing.features import router_features
from gateway.steps.routing.train import keyword_rule, load
from gateway.thresholds import load_thresholds
from tests.unit.gateway.reasoners import direct_draft, lookup_draft

THRESHOLDS = load_thresholds()
ROUTER = SearchRouter.load()
ANSWERED: dict[str, Any] = {"tools": frozenset(), "sub_queries": ()}


def draft(answer: str | None, reasoning: str, confidence: float = 0.92, **changes: Any) -> Draft:
    """A model's draft, without quotes and without tools."""
    given = {"object_label": None, "self_contained": False, **ANSWERED, **changes}
    return lookup_draft(answer=answer, reasoning=reasoning, confidence=confidence, **given)


def routed(question: str, made: Draft, domain: Domain | None = None) -> Route:
    return ROUTER.choose(Query(question, None), made, domain, THRESHOLDS)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        (Cue.UNKNOWN, "I don’t really know which one it is."),
        (Cue.UNKNOWN, "The maker cannot be determined."),
        (Cue.GAP, "The price is not visible and must be looked up."),
        (Cue.SPECULATION, "It is most likely a lamp."),
        (Cue.FALLBACK, "Lamps like this typically cost 40."),
        (Cue.CONTRADICTION, "Wait, the shade does not match."),
        (Cue.READING, "What does the sign say?"),
        (Cue.READ_OFF, "The label on the back lists 40 g."),
        (Cue.TRANSLATION, "Can you translate this?"),
        (Cue.COMPUTATION, "What is 3 + 4?"),
        (Cue.VISIBLE, "What color is the door?"),
        (Cue.CURRENT, "Is it open today?"),
        (Cue.DATED, "In what year was it built?"),
        (Cue.OPEN_WORLD, "Who founded this cafe?"),
    ],
)
def test_a_cue_is_found_in_what_people_and_models_write(cue: Cue, text: str) -> None:
    assert cue.in_text(fold(text))
    assert not cue.in_text(fold("The lamp stands beside a chair."))


def test_what_the_photo_says_is_not_the_models_doubt() -> None:
    sign = direct_draft("It says: wait here, perhaps for long.", quotes=("wait here, perhaps for long",))
    features = router_features(Query("What does the door say?", None), sign, None)
    assert (features.speculates, features.contradicts, features.says_unknown) == (0, 0, 0)
    own = router_features(Query("What does the door say?", None), replace(sign, quotes=()), None)
    assert (own.speculates, own.contradicts) == (1, 1)


def test_a_fact_that_the_photo_does_not_hold_is_recalled() -> None:
    ask = Query("Who wrote this book?", None)
    assert router_features(ask, draft("Mira Holm", "I know it."), None).recalled == 1
    assert router_features(ask, direct_draft("Mira Holm"), None).recalled == 0


@pytest.mark.parametrize(
    ("question", "made", "route"),
    [
        ("What does it say?", direct_draft(), Route.DIRECT),
        (
            "What colour is the left door?",
            draft("It is green.", "Two doors; the left one is green.", self_contained=True),
            Route.DIRECT,
        ),
        (
            "What is 12 times 4 on this sheet?",
            draft("48", "The sheet reads 12 x 4. That is 48.", self_contained=True),
            Route.DIRECT,
        ),
        (
            "In which year did this car begin production?",
            draft("In 1974.", "It is a Golf, made since 1974.", entity="Volkswagen Golf"),
            Route.VERIFY,
        ),
        (
            "Who built this castle?",
            draft("Ludwig II.", "It is Neuschwanstein.", entity="Neuschwanstein", self_contained=True),
            Route.VERIFY,
        ),
        (
            "What does this lamp cost?",
            draft("About 40.", "No brand is visible. Lamps usually cost about 40.", 0.5),
            Route.RAG,
        ),
        ("Who founded this cafe?", draft("I don't know.", "The name is hidden."), Route.RAG),
        ("Who founded this cafe?", draft(None, "The name is hidden."), Route.RAG),
        ("Who founded this cafe?", draft(" ", "The name is hidden."), Route.RAG),
    ],
)
def test_a_draft_takes_its_branch_of_table_1(question: str, made: Draft, route: Route) -> None:
    assert routed(question, made) is route


def test_a_draft_that_is_not_sure_is_never_given_at_once() -> None:
    unsure = direct_draft(confidence=THRESHOLDS.direct_confidence - 0.01)
    assert routed("What does it say?", unsure) is not Route.DIRECT


def test_the_cut_offs_of_the_file_decide() -> None:
    sure = direct_draft()
    never = replace(THRESHOLDS, direct_from=1.0)
    assert ROUTER.choose(Query("What does it say?", None), sure, None, never) is not Route.DIRECT
    all_rag = replace(never, verify_from=1.0)
    assert ROUTER.choose(Query("What does it say?", None), sure, None, all_rag) is Route.RAG


def test_the_router_is_better_than_the_rule_it_replaced() -> None:
    """On the rows it was trained on; the script prints the held-out figures."""
    rows = load()
    right = sum(ROUTER.choose(row.query, row.draft, row.domain, THRESHOLDS) is row.route for row in rows)
    by_rule = sum(keyword_rule(row.draft, THRESHOLDS) is row.route for row in rows)
    assert right / len(rows) > 0.95 > by_rule / len(rows) + 0.1


def test_the_training_rows_know_all_branches_and_domains() -> None:
    rows = load()
    assert len(rows) >= 200
    assert {row.route for row in rows} == set(Route)
    assert {row.domain for row in rows if row.domain} == set(Domain)
    assert len({(row.query.question, row.draft) for row in rows}) == len(rows)


@given(
    question=st.text(max_size=80),
    answer=st.none() | st.text(max_size=80),
    reasoning=st.text(max_size=80),
    confidence=st.floats(0, 1),
    self_contained=st.booleans(),
    tools=st.frozensets(st.sampled_from(Tool)),
    quotes=st.lists(st.text(max_size=20), max_size=2),
)
def test_every_draft_has_a_branch_and_only_an_answer_is_given(
    question: str,
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
    route = routed(question, made)
    assert route in Route
    assert route is Route.RAG or (answer is not None and answer.strip())
    assert all(0 <= value <= 1 for value in router_features(Query(question, None), made, None).vector())
