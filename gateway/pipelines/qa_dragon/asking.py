"""The prompts of QA-Dragon's steps. Sections refer to the paper."""

from collections.abc import Sequence

from contracts.domain_router import Domain
from gateway.llm.asking import domain_text, notes, prompt_of
from gateway.llm.delimiting import delimited, harmless
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Prompt
from gateway.llm.schemas import ChainOfThought
from gateway.pipelines.qa_dragon.schemas import (
    EntityMatch,
    ObjectChoice,
    ObjectList,
    QueryRewrite,
    QuerySplit,
    ToolChoice,
)
from gateway.state import Draft, Entity, PhotoText, Query

_NOTHING_PRINTED = "(nothing)"
_ATTRIBUTES = 5
_ATTRIBUTE_CHARS = 80


def chain_of_thought(query: Query, domain: Domain | None, options: VlmOptions) -> Prompt[ChainOfThought]:
    """The draft with a domain's own advice and cases (QA-Dragon, 3.1.2)."""
    advised = domain_text(domain)
    return prompt_of(
        "qa_dragon/chain_of_thought",
        query,
        ChainOfThought,
        options,
        options.tokens.chain_of_thought,
        cases=advised.cases,
        advice=advised.advice,
    )


def choose_tools(query: Query, draft: Draft, options: VlmOptions) -> Prompt[ToolChoice]:
    """The tool router's question (QA-Dragon, 3.3)."""
    limit = options.tokens.choose_tools
    return prompt_of("qa_dragon/choose_tools", query, ToolChoice, options, limit, notes=notes(draft))


def list_objects(query: Query, options: VlmOptions) -> Prompt[ObjectList]:
    """Which things are there (QA-Dragon, 3.4.1)."""
    limit = options.tokens.list_objects
    return prompt_of(
        "qa_dragon/list_objects", query, ObjectList, options, limit, count=str(options.max_objects)
    )


def select_object(query: Query, labels: Sequence[str], options: VlmOptions) -> Prompt[ObjectChoice]:
    """Which of them is meant (QA-Dragon, 3.4.1)."""
    listed = delimited("list", ", ".join(labels))
    return prompt_of(
        "qa_dragon/select_object", query, ObjectChoice, options, options.tokens.select_object, labels=listed
    )


def match_entity(
    query: Query, draft: Draft, candidates: Sequence[Entity], photo_text: PhotoText, options: VlmOptions
) -> Prompt[EntityMatch]:
    """Which candidate is really there (QA-Dragon, 3.4.4)."""
    listed = "\n".join(f"{number}. {_described(entity)}" for number, entity in enumerate(candidates, 1))
    return prompt_of(
        "qa_dragon/match_entity",
        query,
        EntityMatch,
        options,
        options.tokens.match_entity,
        candidates=delimited("candidates", listed),
        printed=delimited("print", photo_text.rows[: options.printed_chars] or _NOTHING_PRINTED),
        notes=notes(draft),
    )


def split_query(query: Query, draft: Draft, options: VlmOptions) -> Prompt[QuerySplit]:
    """What has to be searched (QA-Dragon, 3.5.1)."""
    limit, count = options.tokens.split_query, str(options.max_queries)
    return prompt_of(
        "qa_dragon/split_query", query, QuerySplit, options, limit, notes=notes(draft), count=count
    )


def enhance_queries(
    query: Query, queries: Sequence[str], entity: Entity | None, options: VlmOptions
) -> Prompt[QueryRewrite]:
    """The searches again, with the verified thing (QA-Dragon, 3.5.1 and 3.5.2)."""
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(queries, 1))
    identity = _described(entity) if entity is not None else "It could not be identified."
    return prompt_of(
        "qa_dragon/enhance_queries",
        query,
        QueryRewrite,
        options,
        options.tokens.enhance_queries,
        queries=delimited("searches", listed),
        identity=delimited("identity", identity),
    )


def _described(entity: Entity) -> str:
    """A thing on one line, with a few of its attributes."""
    known = [
        f"{key.replace('_', ' ')}: {value[:_ATTRIBUTE_CHARS]}"
        for key, value in entity.attributes[:_ATTRIBUTES]
    ]
    return " ".join(harmless("; ".join([entity.name, *known])).split())
