"""Build the prompt of each stage: the stage's own words first, then material, the question last.

The system text and the photo stand before them, so that a server's prefix cache holds from question to
question and the photo is read once for all calls of a request.
"""

from collections.abc import Callable, Sequence

from contracts.domain_router import Domain
from gateway.llm.delimiting import fence, harmless, ours, tokens_at_most, within_tokens
from gateway.llm.prompt import (
    Case,
    Earlier,
    ImagePart,
    Prompt,
    PromptText,
    TextPart,
    VlmOptions,
    prompt_text,
    short_name,
)
from gateway.llm.reply_forms import line_instructions
from gateway.llm.schemas import Form, Structured, Understanding, in_words
from gateway.state import Draft, Query, Turn

_OLD_PHOTO = "The photo is from earlier in this conversation.\n"
_WISHES = "Whoever set this conversation up wishes answers to be worded like this; all rules above hold:"
_REFUSED = "(you did not know)"
_NAME_TOKENS = 120
TURN_TOKENS = 16
"""Marks of two more turns, in any of the chat templates that we know."""


def system_text() -> str:
    """Return the system message, the same for every call."""
    return prompt_text("system").text


def photo_parts(query: Query) -> tuple[TextPart | ImagePart, ...]:
    """Return the photo, or nothing if there is none."""
    return (ImagePart(query.photo.jpeg),) if query.photo is not None else ()


def question_text(query: Query, options: VlmOptions) -> tuple[str, int]:
    """Return the end of every prompt, and the tokens of it and the system text, at most.

    Wishes, conversation and question are each within their share of the model's window.
    """
    words = prompt_text("question")
    wishes = within_tokens(harmless(query.instructions).strip(), options.window.instructions)
    untrusted = {
        "instructions": f"{_WISHES}\n{wishes}\n" if wishes else "",
        "conversation": _conversation(query, options),
        "question": within_tokens(harmless(query.question).strip(), options.window.question),
    }
    setting = _OLD_PHOTO if query.photo is not None and not query.photo_is_new else ""
    tokens = sum(map(tokens_at_most, untrusted.values()))
    tokens += ours(system_text(), words.text, _OLD_PHOTO)
    return words.fill(setting=setting, **untrusted), tokens


def _conversation(query: Query, options: VlmOptions) -> str:
    """Return the latest turns that fit, oldest first, and what they were about."""
    turns = _latest(query.history, options)
    if not turns:
        return ""
    remembered = query.remembered
    name = within_tokens(_line(remembered.name), _NAME_TOKENS) if remembered is not None else ""
    topic = f"It was last about: {name}\n" if name else ""
    return "Conversation so far:\n" + "\n".join(turns) + f"\n{topic}\n"


def _latest(history: Sequence[Turn], options: VlmOptions) -> list[str]:
    lines: list[str] = []
    left, tokens = options.history_chars, options.history_tokens
    for turn in reversed(history[-options.history_turns :]):
        answer = _REFUSED if turn.abstained else _line(turn.answer)
        reply = f"\nYou: {answer}" if answer else ""
        text = within_tokens(f"Wearer: {_line(turn.question)}{reply}"[:left], tokens)
        left -= len(text)
        tokens -= tokens_at_most(text) + 1  # and a line feed
        if not text:
            break
        lines.insert(0, text)
    return lines


def _line(text: str) -> str:
    return " ".join(harmless(text).split())


def text_prompt(
    name: str,
    query: Query,
    options: VlmOptions,
    max_tokens: int,
    ends_with: str = "",
    earlier: Earlier | None = None,
    **slots: str,
) -> Prompt[str]:
    """Return the photo, the words of `<name>.toml` and the question; after an earlier call, the words alone.

    A reply without an end of its own is measured. Slots hold untrusted text, made harmless by the caller.
    """
    words = prompt_text(name)
    task = words.fill(**slots)
    question, before = question_text(query, options) if earlier is None else ("", earlier.tokens)
    user = (*photo_parts(query), TextPart(f"{task}\n\n{question}"))
    return Prompt(
        short_name(name),
        system_text(),
        user if earlier is None else (TextPart(task),),
        str,
        max_tokens,
        text_tokens=before + ours(words.text) + sum(map(tokens_at_most, slots.values())),
        ends_with=ends_with,
        measured=not ends_with,
        earlier=earlier,
    )


def earlier_call(prompt: Prompt[str], reply: str) -> Earlier:
    """Return a call and its reply, for one that goes on from there."""
    return Earlier(prompt.user, reply, prompt.text_tokens + tokens_at_most(reply) + TURN_TOKENS)


JUDGE, REASONED_JUDGE = "judge", "qa_dragon/judge_with_reason"
UNDERSTAND_TOKENS, ANSWER_TOKENS, REWRITE_TOKENS = 256, 96, 64
PIECE_CHARS = 1_500
"""The most characters of one piece of evidence."""
JUDGE_TOKENS = {JUDGE: 4, REASONED_JUDGE: 96}
"""The longest replies: a stage's time is mostly its reply's length."""


def understand(query: Query, domain: Domain | None, options: VlmOptions) -> Prompt[Understanding]:
    """Return the fused first look of the default pipeline, with its domain's advice (QA-Dragon, 3.1.2)."""
    advice = f"For questions of this kind:\n{domain_text(domain).advice}\n\n" if domain is not None else ""
    return prompt_of("understand", query, Understanding, options, UNDERSTAND_TOKENS, advice=advice)


def domain_text(domain: Domain | None) -> PromptText:
    """Return a domain's advice and cases; the generic ones for questions outside the known domains."""
    name = "generic" if domain is None else domain.value.replace(" ", "_")
    return prompt_text(f"qa_dragon/domains/{name}")


def judge_tokens(name: str) -> int:
    """Return an upper bound on the tokens that the judge adds to the call that answered and its reply."""
    return TURN_TOKENS + ours(prompt_text(name).text) + JUDGE_TOKENS[name]


def notes(draft: Draft) -> str:
    """Return what the first look found. The model wrote it, and may have copied it from the photo."""
    lines = [
        f"Kind of thing: {draft.object_label}" if draft.object_label else "",
        f"Name, not verified: {draft.entity or 'none yet'}",
        draft.reasoning,
        f"Draft answer: {draft.answer}" if draft.answer else "No draft answer.",
    ]
    return fence("notes", "\n".join(line for line in lines if line))


def prompt_of(
    name: str,
    query: Query,
    schema: type[Form],
    options: VlmOptions,
    max_tokens: int,
    cases: Sequence[Case] | None = None,
    advice: str = "",
    **slots: str,
) -> Prompt[Form]:
    """Return the photo, the words of `<name>.toml`, with or without examples and advice, and the question.

    `slots` hold untrusted text. Words that describe the schema to a server without grammars are counted too.
    """
    words: PromptText = prompt_text(name)
    examples = words.cases if cases is None else cases

    def fill(form: str, spell: Callable[[Structured], str]) -> tuple[str, int]:
        """Return the text for one form of replies, and the tokens at most of the part that is ours."""
        parts = {
            "fields": f"{in_words(schema)}\n{form}",
            "cases": "\n\n".join(_case(case, spell(schema.model_validate(case.reply))) for case in examples),
            "advice": advice,
        }
        parts = {slot: part for slot, part in parts.items() if slot in words.slots}
        return words.fill(**parts, **slots), ours(words.text, *parts.values())

    short, (question, before) = short_name(name), question_text(query, options)
    text, tokens = fill("Reply with one JSON object.", Structured.as_json)
    lines, tokens_in_lines = fill(line_instructions(short, schema), Structured.as_lines)
    return Prompt(
        short,
        system_text(),
        (*photo_parts(query), TextPart(f"{text.rstrip()}\n\n{question}")),
        schema,
        max_tokens,
        text_tokens=before + max(tokens, tokens_in_lines) + sum(map(tokens_at_most, slots.values())),
        in_lines=f"{lines.rstrip()}\n\n{question}",
    )


def _case(case: Case, reply: str) -> str:
    given = f"\n{case.given}" if case.given else ""
    return f"Photo: {case.photo}\nQuestion: {case.question}{given}\nReply: {reply}"
