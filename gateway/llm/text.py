"""Prompts whose replies are text, and what such a reply says."""

import re
from collections.abc import Sequence

from gateway.llm.alignment import align
from gateway.llm.cleaning import spoken, without_thoughts
from gateway.llm.completion import Written
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Earlier, TextPart, TextPrompt
from gateway.llm.prompts import prompt_text, short_name
from gateway.llm.question import photo_parts, question_text, question_tokens, system_text
from gateway.llm.quoting import quotes
from gateway.llm.reading import confidence
from gateway.llm.schema_forms import read_object
from gateway.llm.tokens import ours, tokens_at_most
from gateway.reasoning.refusals import answer_or_none
from gateway.state import Evidence, Query, Reply
from language.sentences import sentences

YES, NO = 0.9, 0.1
"""Probabilities of a verdict without token probabilities: a judge is never certain."""
TURN_TOKENS = 16
"""Marks of two more turns, in any of the chat templates that we know."""
_WORD = re.compile(r"[A-Za-z]+")
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
    """Return the photo, the words of `<name>.toml` and the question; after an earlier call, the words alone.

    A reply without an end of its own is measured. Slots hold untrusted text, made harmless by the caller.
    """
    words = prompt_text(name)
    task = words.fill(**slots)
    before = question_tokens(query, options) if earlier is None else earlier.tokens
    user = (*photo_parts(query), TextPart(f"{task}\n\n{question_text(query, options)}"))
    return TextPrompt(
        short_name(name),
        system_text(),
        user if earlier is None else (TextPart(task),),
        max_tokens,
        ends_with,
        measured=not ends_with,
        text_tokens=before + ours(words.text) + sum(map(tokens_at_most, slots.values())),
        earlier=earlier,
    )


def replied(asked: TextPrompt, reply: str) -> Earlier:
    """A call and its reply, for one that goes on from there."""
    return Earlier(asked.user, reply, asked.text_tokens + tokens_at_most(reply) + TURN_TOKENS)


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


def reply_of_text(written: Written, evidence: Sequence[Evidence], shown: Sequence[int]) -> Reply | None:
    """Return the answer with the sentence that it can be traced to, if any; None for a refusal. Blocking.

    `shown`: the places in `evidence` of what the model was shown.
    """
    said = answer_of(written)
    if said is None:
        return None
    measured = _probabilities(written)
    return Reply(
        answer=said,
        confidence=confidence(measured),
        quotes=quotes(said, "", evidence, (), shown),
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


def probability_of_yes(written: Written) -> float | None:
    """Return P(yes) / (P(yes) + P(no)) at the first word of a reply to a yes-or-no question.

    Without token probabilities `YES` or `NO` by the word itself; None if it is neither.
    """
    shares = {True: 0.0, False: 0.0}
    first = next((token for token in written.tokens or () if _WORD.search(token.text)), None)
    if first is not None:
        others = (other for other in first.alternatives if other.text != first.text)
        choices = [(first.text, first.probability), *((other.text, other.probability) for other in others)]
        for text, probability in choices:
            meaning = _yes_or_no(text)
            if meaning is not None:
                shares[meaning] += probability
    if total := sum(shares.values()):
        return shares[True] / total
    meaning = _yes_or_no(without_thoughts(written.text))
    return None if meaning is None else (YES if meaning else NO)


def _yes_or_no(text: str) -> bool | None:
    """Return what a word or the beginning of one means: "Yes", "Y", "no", "Not"."""
    found = _WORD.search(text)
    if found is None:
        return None
    word = found.group().casefold()
    return True if "yes".startswith(word) else False if word.startswith("n") else None
