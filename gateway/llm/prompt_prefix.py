"""What every prompt of a request begins with: the same system text, photo and question, byte for byte.

A server with prefix caching then reads the photo once (DESIGN.md; facts of vLLM's automatic prefix caching).
Nothing that differs from stage to stage may enter here.
"""

from collections.abc import Sequence

from gateway.llm.delimiting import harmless
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import ImagePart, TextPart
from gateway.llm.prompts import prompt_text
from gateway.llm.tokens import ours, tokens_at_most, within_tokens
from gateway.state import Query, Turn

_NEW_PHOTO = "The photo shows what the wearer sees now."
_OLD_PHOTO = "The photo is from earlier in this conversation."
_NO_PHOTO = "There is no photo."
_WISHES = "Whoever set this conversation up wishes answers to be worded like this; all rules above hold:"
_REFUSED = "(you did not know)"
_NAME_TOKENS = 120


def system_text() -> str:
    """The system message, the same for every call there is."""
    return prompt_text("system").text


def prompt_prefix(query: Query, options: VlmOptions) -> tuple[TextPart | ImagePart, ...]:
    """The photo, then one text part with the conversation so far and the question."""
    instructions, conversation, question = _said(query, options)
    text = prompt_text("prefix").fill(
        setting=_setting(query), instructions=instructions, conversation=conversation, question=question
    )
    if query.photo is None:
        return (TextPart(text),)
    return (ImagePart(query.photo.jpeg), TextPart(text))


def prefix_tokens(query: Query, options: VlmOptions) -> int:
    """What the system text and the prefix take at most, without the photo."""
    said = sum(map(tokens_at_most, _said(query, options)))
    return said + ours(system_text(), prompt_text("prefix").text, _OLD_PHOTO)


def _said(query: Query, options: VlmOptions) -> tuple[str, str, str]:
    """What others wrote: wishes, conversation and question, each within its share of the model's window."""
    question = within_tokens(harmless(query.question).strip(), options.window.question)
    return _instructions(query, options), _conversation(query, options), question


def _setting(query: Query) -> str:
    if query.photo is None:
        return _NO_PHOTO
    return _NEW_PHOTO if query.photo_is_new else _OLD_PHOTO


def _instructions(query: Query, options: VlmOptions) -> str:
    wishes = within_tokens(harmless(query.instructions).strip(), options.window.instructions)
    return f"{_WISHES}\n{wishes}\n" if wishes else ""


def _conversation(query: Query, options: VlmOptions) -> str:
    """The latest turns that fit, oldest first, and what they were about."""
    turns = _latest(query.history, options)
    if not turns:
        return ""
    remembered = query.remembered
    name = within_tokens(_line(remembered.name), _NAME_TOKENS) if remembered is not None else ""
    topic = f"It was last about: {name}\n" if name else ""
    return "Conversation so far:\n" + "\n".join(turns) + f"\n{topic}\n"


def _latest(history: Sequence[Turn], options: VlmOptions) -> list[str]:
    kept: list[str] = []
    left, tokens = options.history_chars, options.history_tokens
    for turn in reversed(history[-options.history_turns :] if options.history_turns else ()):
        answer = _REFUSED if turn.abstained else _line(turn.answer)
        text = within_tokens(f"Wearer: {_line(turn.question)}\nYou: {answer}"[:left], tokens)
        left -= len(text)
        tokens -= tokens_at_most(text) + 1  # and a line feed
        if not text:
            break
        kept.insert(0, text)
    return kept


def _line(text: str) -> str:
    return " ".join(harmless(text).split())
