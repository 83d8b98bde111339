"""The parts that every prompt has: the system text and the photo first, the question last.

Static text stands first, so that a server's prefix cache holds from question to question; the photo
follows the system text, so that it is read once for all calls of a request.
"""

from collections.abc import Sequence

from gateway.llm.delimiting import harmless
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import ImagePart, TextPart
from gateway.llm.prompts import prompt_text
from gateway.llm.tokens import ours, tokens_at_most, within_tokens
from gateway.state import Query, Turn

_OLD_PHOTO = "The photo is from earlier in this conversation.\n"
_WISHES = "Whoever set this conversation up wishes answers to be worded like this; all rules above hold:"
_REFUSED = "(you did not know)"
_NAME_TOKENS = 120


def system_text() -> str:
    """Return the system message, the same for every call."""
    return prompt_text("system").text


def photo_parts(query: Query) -> tuple[TextPart | ImagePart, ...]:
    """Return the photo, or nothing if there is none."""
    return (ImagePart(query.photo.jpeg),) if query.photo is not None else ()


def question_text(query: Query, options: VlmOptions) -> str:
    """Return the conversation so far and the question: the end of every prompt."""
    instructions, conversation, question = _said(query, options)
    return prompt_text("question").fill(
        setting=_setting(query), instructions=instructions, conversation=conversation, question=question
    )


def question_tokens(query: Query, options: VlmOptions) -> int:
    """Return an upper bound on the tokens of the system text and `question_text`."""
    said = sum(map(tokens_at_most, _said(query, options)))
    return said + ours(system_text(), prompt_text("question").text, _OLD_PHOTO)


def _said(query: Query, options: VlmOptions) -> tuple[str, str, str]:
    """What others wrote: wishes, conversation and question, each within its share of the model's window."""
    question = within_tokens(harmless(query.question).strip(), options.window.question)
    return _instructions(query, options), _conversation(query, options), question


def _setting(query: Query) -> str:
    return _OLD_PHOTO if query.photo is not None and not query.photo_is_new else ""


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
