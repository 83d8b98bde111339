"""The tool router: the paper's rules stand above what the model decides (section 3.3)."""

from collections.abc import Sequence

import pytest

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.pipelines.qa_dragon.tool_router import EVERY_TOOL, choose_tools, names_itself, within_rules
from gateway.planning.run import Run
from gateway.state import Query, Tool
from tests.unit.gateway.reasoners import lookup_draft
from tests.unit.gateway.stepwise import PHOTO, ScriptedSteps

pytestmark = pytest.mark.anyio

TEXT = frozenset({Tool.TEXT_SEARCH})
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
    steps = ScriptedSteps()
    chosen = await choose_tools(
        steps, Query(question, PHOTO), UNKNOWN_LAMP, None, Run("t", Deadline.after_ms(9_000))
    )
    assert (chosen, steps.names()) == (frozenset(), [])


@pytest.mark.parametrize(
    "question",
    [
        "Calculate how far this car goes on 5 gallons of gas.",
        "How much does this cost altogether today?",
        "Which country translated this book first?",
    ],
)
def test_sums_over_facts_from_outside_are_looked_up(question: str) -> None:
    assert within_rules(Query(question, PHOTO), UNKNOWN_LAMP, None, EVERY_TOOL) == EVERY_TOOL


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


def test_a_named_entity_or_no_photo_needs_no_image_search() -> None:
    named = lookup_draft(object_label="car", entity="Volkswagen Golf")
    assert within_rules(Query("How fast is it?", PHOTO), named, None, EVERY_TOOL) == TEXT
    assert within_rules(Query("How fast is it?", None), UNKNOWN_LAMP, None, EVERY_TOOL) == TEXT


@pytest.mark.parametrize("chosen", [[Tool.TEXT_SEARCH], [Tool.IMAGE_SEARCH], []])
def test_rules_take_away_and_never_add(chosen: Sequence[Tool]) -> None:
    tools = frozenset(chosen)
    assert within_rules(Query("Who made this?", PHOTO), UNKNOWN_LAMP, None, tools) == tools
