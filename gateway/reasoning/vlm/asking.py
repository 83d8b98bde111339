"""Builds the prompt of each stage: the request's opening, then the stage's own words and material."""

import json
from collections.abc import Sequence

from contracts.domain_router import Domain
from gateway.reasoning.prompts import Case, PromptText, domain_text, prompt_text
from gateway.reasoning.vlm.fencing import Exhibit, fenced, harmless
from gateway.reasoning.vlm.opening import opening, system_text
from gateway.reasoning.vlm.options import VlmOptions
from gateway.reasoning.vlm.prompt import Prompt, Schema, TextPart
from gateway.reasoning.vlm.schemas import (
    ChainOfThought,
    EntityMatch,
    GroundedAnswer,
    Judgement,
    ObjectChoice,
    ObjectList,
    QueryRewrite,
    QuerySplit,
    Structured,
    ToolChoice,
    Understanding,
    in_words,
)
from gateway.state import Ask, Draft, Entity, PhotoText

_NOTHING_PRINTED = "(nothing)"
_ATTRIBUTES = 5
_ATTRIBUTE_CHARS = 80


def understand(ask: Ask, options: VlmOptions) -> Prompt[Understanding]:
    """The fused first look of the default pipeline."""
    return prompt_of("understand", ask, Understanding, options, options.tokens.understand)


def chain_of_thought(ask: Ask, domain: Domain | None, options: VlmOptions) -> Prompt[ChainOfThought]:
    """The draft with a domain's own advice and cases (QA-Dragon, 3.1.2)."""
    advised = domain_text(domain)
    return prompt_of(
        "chain_of_thought",
        ask,
        ChainOfThought,
        options,
        options.tokens.chain_of_thought,
        cases=advised.cases,
        advice=advised.advice,
    )


def choose_tools(ask: Ask, draft: Draft, options: VlmOptions) -> Prompt[ToolChoice]:
    """The tool router's question (QA-Dragon, 3.3)."""
    limit = options.tokens.choose_tools
    return prompt_of("choose_tools", ask, ToolChoice, options, limit, notes=notes(draft))


def list_objects(ask: Ask, options: VlmOptions) -> Prompt[ObjectList]:
    """Which things are there (QA-Dragon, 3.4.1)."""
    limit = options.tokens.list_objects
    return prompt_of("list_objects", ask, ObjectList, options, limit, count=str(options.max_objects))


def select_object(ask: Ask, labels: Sequence[str], options: VlmOptions) -> Prompt[ObjectChoice]:
    """Which of them is meant (QA-Dragon, 3.4.1)."""
    listed = fenced("list", ", ".join(labels))
    return prompt_of("select_object", ask, ObjectChoice, options, options.tokens.select_object, labels=listed)


def match_entity(
    ask: Ask, draft: Draft, candidates: Sequence[Entity], photo_text: PhotoText, options: VlmOptions
) -> Prompt[EntityMatch]:
    """Which candidate is really there (QA-Dragon, 3.4.4)."""
    listed = "\n".join(f"{number}. {_described(entity)}" for number, entity in enumerate(candidates, 1))
    return prompt_of(
        "match_entity",
        ask,
        EntityMatch,
        options,
        options.tokens.match_entity,
        candidates=fenced("candidates", listed),
        printed=fenced("print", photo_text.plain[: options.printed_chars] or _NOTHING_PRINTED),
        notes=notes(draft),
    )


def split_query(ask: Ask, draft: Draft, options: VlmOptions) -> Prompt[QuerySplit]:
    """What has to be searched (QA-Dragon, 3.5.1)."""
    limit, count = options.tokens.split_query, str(options.max_queries)
    return prompt_of("split_query", ask, QuerySplit, options, limit, notes=notes(draft), count=count)


def enhance_queries(
    ask: Ask, queries: Sequence[str], entity: Entity | None, options: VlmOptions
) -> Prompt[QueryRewrite]:
    """The searches again, with the verified thing (QA-Dragon, 3.5.1 and 3.5.2)."""
    listed = "\n".join(f"{number}. {query}" for number, query in enumerate(queries, 1))
    identity = _described(entity) if entity is not None else "It could not be identified."
    return prompt_of(
        "enhance_queries",
        ask,
        QueryRewrite,
        options,
        options.tokens.enhance_queries,
        queries=fenced("searches", listed),
        identity=fenced("identity", identity),
    )


def answer(
    ask: Ask,
    draft: Draft,
    entity: Entity | None,
    shown: Exhibit,
    options: VlmOptions,
    most_tokens: int | None = None,
) -> Prompt[GroundedAnswer]:
    """The answer from the evidence (QA-Dragon, 3.7.1)."""
    limit = options.tokens.answer if most_tokens is None else min(options.tokens.answer, most_tokens)
    return prompt_of(
        "answer", ask, GroundedAnswer, options, limit, notes=notes(draft, entity), evidence=shown.text
    )


def judge(ask: Ask, answered: str, shown: Exhibit, options: VlmOptions) -> Prompt[Judgement]:
    """The model's half of the dual verifier (QA-Dragon, 3.7.2)."""
    limit = options.tokens.judge
    return prompt_of(
        "judge", ask, Judgement, options, limit, answer=fenced("answer", answered), evidence=shown.text
    )


def notes(draft: Draft, entity: Entity | None = None) -> str:
    """What the first look found. The model wrote it, and may have copied it from the photo."""
    verified = entity.name if entity is not None else None
    lines = [
        f"Kind of thing: {draft.object_label}" if draft.object_label else "",
        f"Identified as: {verified}" if verified else f"Name, not verified: {draft.entity or 'none yet'}",
        draft.reasoning,
        f"Draft answer: {draft.answer}" if draft.answer else "No draft answer.",
    ]
    return fenced("notes", "\n".join(line for line in lines if line))


def cases_in_words(cases: Sequence[Case], schema: type[Structured]) -> str:
    """The worked cases, their replies spelled exactly as the schema spells them."""
    return "\n\n".join(_case(case, schema) for case in cases)


def prompt_of(
    name: str,
    ask: Ask,
    schema: type[Schema],
    options: VlmOptions,
    max_tokens: int,
    cases: Sequence[Case] | None = None,
    **slots: str,
) -> Prompt[Schema]:
    """The request's opening, then the words of `<name>.toml`, which may do without worked cases."""
    if not issubclass(schema, Structured):
        raise TypeError(f"{schema.__name__} does not describe its fields")
    words: PromptText = prompt_text(name)
    if "cases" in words.slots:
        slots["cases"] = cases_in_words(words.cases if cases is None else cases, schema)
    text = words.fill(fields=in_words(schema), **slots)
    return Prompt(name, system_text(), (*opening(ask, options), TextPart(text)), schema, max_tokens)


def _case(case: Case, schema: type[Structured]) -> str:
    reply = json.dumps(schema.model_validate(case.reply).model_dump(mode="json"), ensure_ascii=False)
    given = f"\n{case.given}" if case.given else ""
    return f"Photo: {case.photo}\nQuestion: {case.question}{given}\nReply: {reply}"


def _described(entity: Entity) -> str:
    """A thing on one line, with a few of its attributes."""
    known = [
        f"{key.replace('_', ' ')}: {value[:_ATTRIBUTE_CHARS]}"
        for key, value in entity.attributes[:_ATTRIBUTES]
    ]
    return " ".join(harmless("; ".join([entity.name, *known])).split())
