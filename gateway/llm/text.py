"""Prompts whose replies are text, and what such a reply says."""

import re
from collections.abc import Sequence

from gateway.llm.alignment import align
from gateway.llm.cleaning import spoken, without_thoughts
from gateway.llm.completion import Written
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Earlier, TextPart, TextPrompt
from gateway.llm.prompt_prefix import prefix_tokens, prompt_prefix, system_text
from gateway.llm.prompts import prompt_text, short_name
from gateway.llm.quoting import quotes
from gateway.llm.reading import confidence, no_answer
from gateway.llm.repair import read_object
from gateway.llm.tokens import ours, tokens_at_most
from gateway.reasoning.refusals import answer_or_none
from gateway.state import Context, Query, Reply
from language.sentences import sentences

_TURN_TOKENS = 16
"""Marks of two more turns, in any of the chat templates that we know."""
_CODE_FENCE = re.compile(r"\A```[a-z]*\s*|\s*```\Z")


def text_prompt(
    name: str,
    query: Query,
    options: VlmOptions,
    max_tokens: int,
    ends_with: str = "",
    earlier: Earlier | None = None,
    **slots: str,
) -> TextPrompt:
    """The prompt prefix, or the call that this one goes on from, then the words of `<name>.toml`.

    Measured is what has no end of its own.
    """
    words = prompt_text(name)
    task = TextPart(words.fill(**slots))
    before = prefix_tokens(query, options) if earlier is None else earlier.tokens
    return TextPrompt(
        short_name(name),
        system_text(),
        (*prompt_prefix(query, options), task) if earlier is None else (task,),
        max_tokens,
        ends_with,
        measured=not ends_with,
        text_tokens=before + ours(words.text) + sum(map(tokens_at_most, slots.values())),
        earlier=earlier,
    )


def replied(asked: TextPrompt, reply: str) -> Earlier:
    """A call and its reply, for one that goes on from there."""
    return Earlier(asked.user, reply, asked.text_tokens + tokens_at_most(reply) + _TURN_TOKENS)


def answer_of(written: Written) -> str | None:
    """The answer as it may be said, or None for a refusal.

    One that was cut off ends with its last whole sentence; within its first, with the word before the last:
    half a number is a wrong one.
    """
    text = _CODE_FENCE.sub("", without_thoughts(written.text))
    if text.startswith("{"):
        return _answer_of_form(text)
    if written.cut_off:
        ends = [sentence.end for sentence in sentences(text)][:-1]
        text = text[: ends[-1]] if ends else text.rpartition(" ")[0]
    return answer_or_none(spoken(text))


def _answer_of_form(text: str) -> str | None:
    """The answer in an object that a model wrote though text was asked for; None if it has none or no end."""
    found = read_object(text)
    value = found.value.get("answer") if found and found.complete else None
    return answer_or_none(spoken(value)) if isinstance(value, str) else None


def reply_of_text(written: Written, context: Context, shown: Sequence[int], options: VlmOptions) -> Reply:
    """The answer as it was said, with the sentence that it can be traced to, if any. Blocking."""
    said = answer_of(written)
    if said is None:
        return no_answer(context)
    measured = _probabilities(written)
    return Reply(
        answer=said,
        confidence=confidence(measured, options),
        quotes=quotes(said, "", context.evidence, (), shown),
        token_probabilities=measured,
    )


def _probabilities(written: Written) -> tuple[float, ...] | None:
    """Of each token that spells something: end-of-turn marks do not."""
    if written.tokens is None:
        return None
    places = align(written.text.encode(), [token.data for token in written.tokens])
    if places is None:
        return None
    spelled = zip(written.tokens, places, strict=True)
    return tuple(token.probability for token, (start, end) in spelled if end > start) or None
