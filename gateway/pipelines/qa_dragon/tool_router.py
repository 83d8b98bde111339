"""The tool router (QA-Dragon, section 3.3): which searches, by the model's decision and by rules above it."""

import re

from contracts.domain_router import Domain
from gateway.pipelines.qa_dragon.model import StepwiseVlmReasoner
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Draft, Query, Tool
from language.words import fold

EVERY_TOOL = frozenset(Tool)

_WORKED_OUT = re.compile(
    r"\d ?[-+*/x×÷] ?\d|\bmeans? in english\b"
    r"|^(?:please |can you |could you )?(?:solve|calculate|compute|simplify|evaluate|translate)\b"
)
_FACT_ASKED = re.compile(r"(?<!^)\b(?:how|who|whose|when|where|which|why)\b")
"""Within a question: "calculate how far it goes on five gallons" wants to be looked up first."""

_NAMES_ITSELF = frozenset(
    {
        *("book", "textbook", "novel", "notebook", "magazine", "comic", "paperback", "atlas", "dictionary"),
        *("package", "packaging", "pack", "packet", "carton", "can", "tin", "bottle", "jar", "tube"),
        *("wrapper", "box", "sachet", "pouch", "snack", "drink", "soda"),
        *("plant", "houseplant", "flower", "blossom", "tree", "shrub", "bush", "leaf", "leaves", "fern"),
        *("herb", "succulent", "cactus", "seedling", "weed", "moss"),
    }
)
"""Words for books, packaged goods and plants; looked for with and without a final s."""
_DOMAINS = frozenset({Domain.BOOK, Domain.PLANTS_AND_GARDENING})


async def choose_tools(
    reasoner: StepwiseVlmReasoner, query: Query, draft: Draft, domain: Domain | None, run: Run
) -> frozenset[Tool]:
    """Return the model's choice within the rules; every tool within them when it cannot be asked."""
    if is_self_contained(query):
        return frozenset()
    if query.photo is None:
        run.spare(Stage.TOOL_ROUTER)
        return within_rules(query, draft, domain, EVERY_TOOL)
    chosen = EVERY_TOOL
    async with run.optional(Stage.TOOL_ROUTER), run.stage(Stage.TOOL_ROUTER) as deadline:
        chosen = await reasoner.choose_tools(query, draft, deadline)
    tools = within_rules(query, draft, domain, chosen)
    run.explain.note(Stage.TOOL_ROUTER, sorted(tools))
    return tools


def within_rules(
    query: Query, draft: Draft, domain: Domain | None, tools: frozenset[Tool]
) -> frozenset[Tool]:
    """`tools` without those that the paper's rules exclude, whatever the model said."""
    if is_self_contained(query):
        return frozenset()
    identified = draft.entity is not None
    if query.photo is None or identified or names_itself(draft.object_label, domain):
        return tools - {Tool.IMAGE_SEARCH}
    return tools


def is_self_contained(query: Query) -> bool:
    """Arithmetic and translation that need no fact from outside."""
    question = fold(query.question).strip()
    return _WORKED_OUT.search(question) is not None and _FACT_ASKED.search(question) is None


def names_itself(label: str | None, domain: Domain | None) -> bool:
    """Books, packaged goods with a logo, and plants: their names are read, or similar pictures mislead.

    The label decides; the domain only where there is none.
    """
    if label is None:
        return domain in _DOMAINS
    words = fold(label).split()
    return any(form in _NAMES_ITSELF for word in words for form in (word, word.removesuffix("s")))
