"""Builds the prompt of each stage: the prompt prefix, then the stage's own words and material."""

from collections.abc import Callable, Sequence

from contracts.domain_router import Domain
from gateway.llm.delimiting import EvidenceBlocks, delimited
from gateway.llm.lines import described_lines, in_lines
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Prompt, Schema, TextPart
from gateway.llm.prompt_prefix import prefix_tokens, prompt_prefix, system_text
from gateway.llm.prompts import Case, PromptText, prompt_text, short_name
from gateway.llm.schema_forms import described
from gateway.llm.schemas import GroundedAnswer, Judgement, Structured, Understanding, in_words
from gateway.llm.tokens import ours, tokens_at_most
from gateway.state import Draft, Entity, Query

Spell = Callable[[Structured], str]


def understand(query: Query, domain: Domain | None, options: VlmOptions) -> Prompt[Understanding]:
    """The fused first look of the default pipeline, with its domain's advice (QA-Dragon, 3.1.2)."""
    limit = options.tokens.understand
    advice = f"For questions of this kind:\n{domain_text(domain).advice}\n\n" if domain is not None else ""
    return prompt_of("understand", query, Understanding, options, limit, advice=advice)


def domain_text(domain: Domain | None) -> PromptText:
    """A domain's advice and cases; the generic ones for questions outside the known domains."""
    name = "generic" if domain is None else domain.value.replace(" ", "_")
    return prompt_text(f"qa_dragon/domains/{name}")


def answer(
    query: Query,
    draft: Draft,
    entity: Entity | None,
    shown: EvidenceBlocks,
    options: VlmOptions,
    most_tokens: int | None = None,
) -> Prompt[GroundedAnswer]:
    """The answer from the evidence (QA-Dragon, 3.7.1)."""
    limit = options.tokens.answer if most_tokens is None else min(options.tokens.answer, most_tokens)
    return prompt_of(
        "answer", query, GroundedAnswer, options, limit, notes=notes(draft, entity), evidence=shown.text
    )


def judge(query: Query, answered: str, shown: EvidenceBlocks, options: VlmOptions) -> Prompt[Judgement]:
    """The model's half of the dual verifier (QA-Dragon, 3.7.2)."""
    limit = options.tokens.judge
    return prompt_of(
        "judge", query, Judgement, options, limit, answer=delimited("answer", answered), evidence=shown.text
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
    return delimited("notes", "\n".join(line for line in lines if line))


def cases_in_words(cases: Sequence[Case], schema: type[Structured], spell: Spell) -> str:
    """The worked cases, their replies spelled as the reply itself is to be."""
    return "\n\n".join(_case(case, schema, spell) for case in cases)


def prompt_of(
    name: str,
    query: Query,
    schema: type[Schema],
    options: VlmOptions,
    max_tokens: int,
    cases: Sequence[Case] | None = None,
    advice: str = "",
    **slots: str,
) -> Prompt[Schema]:
    """The prompt prefix, then the words of `<name>.toml`, which may do without worked cases and advice.

    `slots` hold what others wrote. What describes the schema to a server without grammars is counted too.
    """
    if not issubclass(schema, Structured):
        raise TypeError(f"{schema.__name__} does not describe its fields")
    words: PromptText = prompt_text(name)
    shown = words.cases if cases is None else cases

    def filled(spell: Spell, form: str) -> tuple[str, int]:
        """The text in one spelling of replies, and the tokens at most of what of it is ours."""
        ours_too = {"fields": f"{in_words(schema)}{form}"}
        if "cases" in words.slots:
            ours_too["cases"] = cases_in_words(shown, schema, spell)
        if "advice" in words.slots:
            ours_too["advice"] = advice
        return words.fill(**ours_too, **slots), ours(words.text, *ours_too.values())

    short = short_name(name)
    text, tokens = filled(Structured.spelled, "")
    lines, tokens_in_lines = filled(_as_lines, f"\n{described_lines(short, schema)}")
    tokens = max(tokens + ours(described(short, schema)), tokens_in_lines)
    tokens += prefix_tokens(query, options) + sum(map(tokens_at_most, slots.values()))
    user = (*prompt_prefix(query, options), TextPart(text))
    return Prompt(short, system_text(), user, schema, max_tokens, text_tokens=tokens, in_lines=lines)


def _as_lines(reply: Structured) -> str:
    return "\n" + in_lines(reply.told())


def _case(case: Case, schema: type[Structured], spell: Spell) -> str:
    reply = spell(schema.model_validate(case.reply))
    given = f"\n{case.given}" if case.given else ""
    return f"Photo: {case.photo}\nQuestion: {case.question}{given}\nReply: {reply}"
