"""Build the prompt of each stage: the stage's own words first, then material, the question last."""

from collections.abc import Callable, Sequence

from contracts.domain_router import Domain
from gateway.llm.delimiting import EvidenceBlocks, delimited, harmless
from gateway.llm.lines import described_lines, in_lines
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Prompt, Schema, TextPart, TextPrompt
from gateway.llm.prompts import Case, PromptText, prompt_text, short_name
from gateway.llm.question import photo_parts, question_text, question_tokens, system_text
from gateway.llm.schemas import Structured, Understanding, in_words
from gateway.llm.text import TURN_TOKENS, replied, text_prompt
from gateway.llm.tokens import ours, tokens_at_most
from gateway.state import Draft, Entity, Query

Spell = Callable[[Structured], str]


def understand(query: Query, domain: Domain | None, options: VlmOptions) -> Prompt[Understanding]:
    """The fused first look of the default pipeline, with its domain's advice (QA-Dragon, 3.1.2)."""
    limit = options.tokens.understand
    advice = f"For questions of this kind:\n{domain_text(domain).advice}\n\n" if domain is not None else ""
    return prompt_of("understand", query, Understanding, options, limit, advice=advice)


def examples(name: str) -> tuple[Case, ...]:
    """Return the worked examples in a prompt."""
    return prompt_text(name).cases


def domain_text(domain: Domain | None) -> PromptText:
    """A domain's advice and cases; the generic ones for questions outside the known domains."""
    name = "generic" if domain is None else domain.value.replace(" ", "_")
    return prompt_text(f"qa_dragon/domains/{name}")


def answer(
    query: Query,
    entity: Entity | None,
    shown: EvidenceBlocks,
    options: VlmOptions,
    most_tokens: int,
    name: str = "answer",
) -> TextPrompt:
    """Return the prompt `name` for the answer from evidence (QA-Dragon, 3.7.1)."""
    thing = delimited("the thing asked about", entity.name) + "\n" if entity else ""
    return text_prompt(name, query, options, most_tokens, thing=thing, evidence=shown.text)


def judge(query: Query, asked: TextPrompt, answered: str, options: VlmOptions) -> TextPrompt:
    """Return the prompt that asks the model to check an answer (QA-Dragon, 3.7.2).

    It goes on from the prompt of the answer, so that a server with a prefix cache reads little more.
    """
    return text_prompt(
        "judge", query, options, options.tokens.judge, earlier=replied(asked, harmless(answered))
    )


def judge_tokens(options: VlmOptions) -> int:
    """Return an upper bound on the tokens that the judge adds to the call that answered and its reply."""
    return TURN_TOKENS + ours(prompt_text("judge").text) + options.tokens.judge


def rewrite(query: Query, options: VlmOptions) -> TextPrompt:
    """Return the prompt that puts a follow-up question into words that need no conversation."""
    return text_prompt("rewrite", query, options, options.tokens.rewrite)


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
    """Return the photo, the words of `<name>.toml`, with or without examples and advice, and the question.

    `slots` hold untrusted text. Words that describe the schema to a server without grammars are counted too.
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
    text, tokens = filled(Structured.spelled, "\nReply with one JSON object.")
    lines, tokens_in_lines = filled(_as_lines, f"\n{described_lines(short, schema)}")
    tokens = max(tokens, tokens_in_lines)
    tokens += question_tokens(query, options) + sum(map(tokens_at_most, slots.values()))
    question = question_text(query, options)
    user = (*photo_parts(query), TextPart(f"{text.rstrip()}\n\n{question}"))
    in_lines = f"{lines.rstrip()}\n\n{question}"
    return Prompt(short, system_text(), user, schema, max_tokens, text_tokens=tokens, in_lines=in_lines)


def _as_lines(reply: Structured) -> str:
    return "\n" + in_lines(reply.told())


def _case(case: Case, schema: type[Structured], spell: Spell) -> str:
    reply = spell(schema.model_validate(case.reply))
    given = f"\n{case.given}" if case.given else ""
    return f"Photo: {case.photo}\nQuestion: {case.question}{given}\nReply: {reply}"
