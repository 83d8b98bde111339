"""What every prompt of a request begins with: the same system text, photo and question, byte for byte.

A server with prefix caching then reads the photo once (DESIGN.md; facts of vLLM's automatic prefix caching).
Nothing that differs from stage to stage may enter here.
"""

from collections.abc import Sequence

from gateway.llm.delimiting import harmless
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import ImagePart, TextPart
from gateway.llm.prompts import prompt_text
from gateway.state import Query, Turn

_NEW_PHOTO = "The photo shows what the wearer sees now."
_OLD_PHOTO = "The photo is from earlier in this conversation."
_NO_PHOTO = "There is no photo."
_WISHES = "Whoever set this conversation up wishes answers to be worded like this; all rules above hold:"
_REFUSED = "(you did not know)"


def system_text() -> str:
    """The system message, the same for every call there is."""
    return prompt_text("system").text


def prompt_prefix(query: Query, options: VlmOptions) -> tuple[TextPart | ImagePart, ...]:
    """The photo, then one text part with the conversation so far and the question."""
    text = prompt_text("prefix").fill(
        setting=_setting(query),
        instructions=_instructions(query),
        conversation=_conversation(query, options),
        question=harmless(query.question).strip(),
    )
    if query.photo is None:
        return (TextPart(text),)
    return (ImagePart(query.photo.jpeg), TextPart(text))


def _setting(query: Query) -> str:
    if query.photo is None:
        return _NO_PHOTO
    return _NEW_PHOTO if query.photo_is_new else _OLD_PHOTO


def _instructions(query: Query) -> str:
    if not query.instructions:
        return ""
    return f"{_WISHES}\n{harmless(query.instructions).strip()}\n"


def _conversation(query: Query, options: VlmOptions) -> str:
    """The latest turns that fit, oldest first, and what they were about."""
    turns = _latest(query.history, options)
    if not turns:
        return ""
    remembered = query.remembered
    topic = f"It was last about: {_line(remembered.name)}\n" if remembered is not None else ""
    return "Conversation so far:\n" + "\n".join(turns) + f"\n{topic}\n"


def _latest(history: Sequence[Turn], options: VlmOptions) -> list[str]:
    kept: list[str] = []
    left = options.history_chars
    for turn in reversed(history[-options.history_turns :] if options.history_turns else ()):
        answer = _REFUSED if turn.abstained else _line(turn.answer)
        text = f"Wearer: {_line(turn.question)}\nYou: {answer}"[:left]
        left -= len(text)
        if not text:
            break
        kept.insert(0, text)
    return kept


def _line(text: str) -> str:
    return " ".join(harmless(text).split())
