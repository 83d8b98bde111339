"""The model behind the `qa-dragon` pipeline: its calls, their prompts and the schemas of their replies.

`choose_tools` is the tool router (section 3.3): the model's decision, and rules above it.
"""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.llm.asking import JUDGE, REASONED_JUDGE, domain_text, notes, prompt_of
from gateway.llm.delimiting import fence, harmless
from gateway.llm.prompt import Prompt
from gateway.llm.reading import MAX_QUERIES, draft_of, labels, listed_label, queries, whole
from gateway.llm.reasoner import AnsweringVlm, with_print
from gateway.llm.schemas import (
    MAX_OBJECTS,
    Blank,
    ChainOfThought,
    Form,
    Label,
    Queries,
    Sentence,
    Structured,
    Tools,
    first_number,
    items_at_most,
)
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.reasoning.port import ReadPhoto
from gateway.state import ENTITY_SLOT, Draft, Entity, PhotoText, Query, Tool
from language.words import fold

COT_TOKENS, TOOLS_TOKENS, LIST_TOKENS, SELECT_TOKENS, MATCH_TOKENS = 448, 128, 96, 128, 160
QUERY_TOKENS = 256
"""The longest replies."""
MOST_OBJECTS, MOST_CANDIDATES = 6, 8
_PRINTED_CHARS = 800
_NOTHING_PRINTED = "(nothing)"
_ATTRIBUTES = 5
_ATTRIBUTE_CHARS = 80


class StepwiseVlmReasoner(AnsweringVlm):
    """QA-Dragon's own order of questions, one call each. Sections refer to the paper."""

    answer_prompt = "qa_dragon/answer_with_reasons"
    judge_prompts = (JUDGE, REASONED_JUDGE)

    async def chain_of_thought(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """Return the draft and its reasoning trace, with the domain's own advice and cases (3.1.2).

        Tools and sub-queries have calls of their own.
        """
        name, text = "qa_dragon/chain_of_thought", domain_text(domain)
        prompt = prompt_of(
            name, query, ChainOfThought, self._options, COT_TOKENS, cases=text.cases, advice=text.advice
        )
        completion = await self._client.complete(prompt, deadline)
        return await with_print(draft_of(completion, query, text.cases), read_photo, deadline)

    async def choose_tools(self, query: Query, draft: Draft, deadline: Deadline) -> frozenset[Tool]:
        """Return the model's choice (3.3)."""
        name, text = "qa_dragon/choose_tools", notes(draft)
        prompt = prompt_of(name, query, ToolChoice, self._options, TOOLS_TOKENS, notes=text)
        return frozenset((await self._complete(prompt, deadline)).tools)

    async def list_objects(self, query: Query, deadline: Deadline) -> tuple[str, ...]:
        """Return the categories of things in the photo (3.4.1)."""
        if query.photo is None:
            return ()
        name, count = "qa_dragon/list_objects", str(MOST_OBJECTS)
        prompt = prompt_of(name, query, ObjectList, self._options, LIST_TOKENS, count=count)
        return labels((await self._complete(prompt, deadline)).objects, MOST_OBJECTS)

    async def select_object(self, query: Query, labels: Sequence[str], deadline: Deadline) -> str | None:
        """Return the one that is meant (3.4.1); None if the model names something that was not listed."""
        name, listed = "qa_dragon/select_object", fence("list", ", ".join(labels))
        prompt = prompt_of(name, query, ObjectChoice, self._options, SELECT_TOKENS, labels=listed)
        return listed_label((await self._complete(prompt, deadline)).object_label, labels)

    async def match_entity(
        self,
        query: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """Return the candidate that is really in the photo (3.4.4), or None."""
        listed = candidates[:MOST_CANDIDATES]
        if not listed:
            return None
        lines = "\n".join(f"{number}. {_described(entity)}" for number, entity in enumerate(listed, 1))
        prompt = prompt_of(
            "qa_dragon/match_entity",
            query,
            EntityMatch,
            self._options,
            MATCH_TOKENS,
            candidates=fence("candidates", lines),
            printed=fence("print", photo_text.rows[:_PRINTED_CHARS] or _NOTHING_PRINTED),
            notes=notes(draft),
        )
        number = (await self._complete(prompt, deadline)).candidate
        return listed[number - 1] if number is not None and 1 <= number <= len(listed) else None

    async def split_query(self, query: Query, draft: Draft, deadline: Deadline) -> tuple[str, ...]:
        """Return sub-queries that can each be searched alone (3.5.1)."""
        name, text, count = "qa_dragon/split_query", notes(draft), str(MAX_QUERIES)
        prompt = prompt_of(name, query, QuerySplit, self._options, QUERY_TOKENS, notes=text, count=count)
        return queries((await self._complete(prompt, deadline)).queries)

    async def enhance_queries(
        self, query: Query, queries: Sequence[str], entity: Entity | None, deadline: Deadline
    ) -> tuple[str, ...]:
        """Return the sub-queries with the verified thing's name (3.5.1, 3.5.2).

        Those that stay open are dropped.
        """
        lines = "\n".join(f"{number}. {text}" for number, text in enumerate(queries, 1))
        identity = _described(entity) if entity is not None else "It could not be identified."
        prompt = prompt_of(
            "qa_dragon/enhance_queries",
            query,
            QueryRewrite,
            self._options,
            QUERY_TOKENS,
            queries=fence("searches", lines),
            identity=fence("identity", identity),
        )
        rewritten = (await self._complete(prompt, deadline)).queries
        return _named(rewritten, entity) or _named(queries, entity)

    async def _complete(self, prompt: Prompt[Form], deadline: Deadline) -> Form:
        """Return the reply, as far as it is complete."""
        return whole(await self._client.complete(prompt, deadline))


class ToolChoice(Structured):
    """The tool router's decision (QA-Dragon, 3.3)."""

    reason: Sentence = Field(description="one sentence on what is missing")
    tools: Tools = Field(default=[], description="the searches that must run: image_search, text_search")


class ObjectList(Structured):
    """Categories of things in the photo (QA-Dragon, 3.4.1)."""

    objects: Annotated[list[Label], items_at_most(MAX_OBJECTS), Field(max_length=MAX_OBJECTS)] = Field(
        description="kinds of things, one to three words each, the likeliest first"
    )


class ObjectChoice(Structured):
    """The one thing that the question is about (QA-Dragon, 3.4.1)."""

    reason: Sentence = Field(description="one short sentence on what decided it")
    object_label: Annotated[Label | None, Blank] = Field(
        default=None, description="the thing's word from the list, with a telling word if needed, or null"
    )


class EntityMatch(Structured):
    """The candidate that is in the photo (QA-Dragon, 3.4.4)."""

    reason: Sentence = Field(description="one sentence on what agrees or does not")
    candidate: Annotated[int | None, BeforeValidator(first_number)] = Field(
        default=None, description="the number of the candidate that is in the photo, or null for none of them"
    )


class QuerySplit(Structured):
    """Sub-queries (QA-Dragon, 3.5.1)."""

    reason: Sentence = Field(description="one sentence on which facts are needed")
    queries: Queries = Field(default=[], description="the searches, in the order in which they are needed")


class QueryRewrite(Structured):
    """Sub-queries with the verified thing's name in them (QA-Dragon, 3.5.1 and 3.5.2)."""

    queries: Queries = Field(description="the searches, rewritten, as many as were given and in their order")


def _named(texts: Sequence[str], entity: Entity | None) -> tuple[str, ...]:
    """Return clean searches with the name in every slot."""
    name = entity.name if entity is not None else None
    filled = [
        text.replace(ENTITY_SLOT, name or "")
        for text in queries(texts)
        if name is not None or ENTITY_SLOT not in text
    ]
    return queries(filled)


def _described(entity: Entity) -> str:
    """Return a thing on one line, with a few of its attributes."""
    facts = [
        f"{key.replace('_', ' ')}: {value[:_ATTRIBUTE_CHARS]}"
        for key, value in entity.attributes[:_ATTRIBUTES]
    ]
    return " ".join(harmless("; ".join([entity.name, *facts])).split())


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
