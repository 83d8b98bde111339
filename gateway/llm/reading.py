"""Turn what the model wrote into what the pipeline works with: cleaned, honest, measured and quoted.

Its words are trusted no more than input: they are made fit for searching, detecting and saying.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from contracts.answer import Reason
from gateway.llm.completion import Completion
from gateway.llm.prompt import Case
from gateway.llm.reply_forms import read_object, thoughts_end
from gateway.llm.schemas import Answerability, ChainOfThought, Form, Understanding
from gateway.reasoning.pieces import one_line, without_markup
from gateway.reasoning.refusals import spoken_answer
from gateway.state import (
    ENTITY_SLOT,
    Context,
    Draft,
    Evidence,
    Judgement,
    PhotoText,
    Query,
    Quote,
    Reply,
    Tool,
)
from language.sentences import sentences
from language.words import content_stems, fold, squeeze, unique

LEAST_SHARE = 0.5
"""Share of the answer's content words that a sentence must have to count as its source."""
LONGEST = 600
"""Characters of one quote; a page without full stops is one long "sentence"."""


def source_of(answer: str, evidence: Sequence[Evidence], places: Sequence[int]) -> Quote | None:
    """Return the sentence that has most of the answer's content words; None if none has `LEAST_SHARE`.

    `places`: the indices in `evidence` of the pieces that the model was shown.
    """
    wanted = content_stems(answer)

    def shared(text: str) -> int:
        return len(wanted & content_stems(text))

    closest = (
        Quote(index, max(texts, key=lambda text: (shared(text), -len(content_stems(text)))))
        for index in places
        if (texts := [sentence.text[:LONGEST] for sentence in sentences(evidence[index].text)])
    )
    best = max(closest, key=lambda quote: shared(quote.text), default=None)
    return best if best and wanted and shared(best.text) >= LEAST_SHARE * len(wanted) else None


def printed_quotes(answer: str, photo_text: PhotoText) -> tuple[str, ...]:
    """The printed lines whose words all stand in the answer: what it was read from."""
    words = content_stems(answer)
    lines = (line.text for line in photo_text.lines)
    return tuple(dict.fromkeys(line for line in lines if (stems := content_stems(line)) and stems <= words))


YES, NO = 0.9, 0.1
"""Probabilities of a verdict without token probabilities: a judge is never certain."""
_WORD = re.compile(r"[A-Za-z]+")
_LAST_WORD = re.compile(r"\b(?:yes|no)\W*\Z", re.IGNORECASE)
_CODE_FENCE = re.compile(r"\A```[a-z]*\s*|\s*```\Z")


def answer_of(text: str, *, cut_off: bool = False) -> str | None:
    """Return the answer in a model's words as it may be said, or None for a refusal.

    One that was cut off ends with its last whole sentence; within its first, with the word before the last:
    half a number is a wrong one.
    """
    text = _CODE_FENCE.sub("", without_thoughts(text))
    if text.startswith("{"):  # an object, though text was asked for
        fields = read_object(text)
        value = fields.value.get("answer") if fields and fields.complete else None
        return spoken_answer(value) if isinstance(value, str) else None
    if cut_off:
        ends = [sentence.end for sentence in sentences(text)][:-1]
        text = text[: ends[-1]] if ends else text.rpartition(" ")[0]
    return spoken_answer(text)


def reply_of_text(
    completion: Completion[str], evidence: Sequence[Evidence], places: Sequence[int]
) -> Reply | None:
    """Return the answer with the sentence that it can be traced to, if any; None for a refusal. Blocking.

    `places`: the places in `evidence` of what the model was shown.
    """
    answer = answer_of(completion.text, cut_off=completion.cut_off)
    if answer is None:
        return None
    measured = completion.probabilities
    source = source_of(answer, evidence, places)
    return Reply(answer, confidence(measured), (source,) if source else (), token_probabilities=measured)


def judgement_of(completion: Completion[str], after_reason: bool = False) -> Judgement:
    """Return P(yes) / (P(yes) + P(no)) at the first word, or `after_reason` at the last one.

    Without token probabilities `YES` or `NO` by the word itself; None if it is neither.
    """
    text, tokens = without_thoughts(completion.text), completion.tokens or ()
    measured = completion.probabilities
    if after_reason:
        last = _LAST_WORD.search(text)
        if last is None:
            return Judgement(None, measured)
        text = last.group()
        tokens = tuple(token for token in tokens[::-1] if _yes_or_no(token.token) is not None)
    shares = {True: 0.0, False: 0.0, None: 0.0}
    word = next((token for token in tokens if _WORD.search(token.token)), None)
    if word is not None:
        others = (other for other in word.top_logprobs or () if other.token != word.token)
        for choice in (word, *others):
            shares[_yes_or_no(choice.token)] += choice.probability
    if total := shares[True] + shares[False]:
        return Judgement(shares[True] / total, measured)
    meaning = _yes_or_no(text)
    return Judgement(None if meaning is None else (YES if meaning else NO), measured)


def _yes_or_no(text: str) -> bool | None:
    """Return what a word or the beginning of one means: "Yes", "Y", "no", "Not"."""
    match = _WORD.search(text)
    if match is None:
        return None
    word = match.group().casefold()
    return True if "yes".startswith(word) else False if word.startswith("n") else None


def whole(completion: Completion[Form]) -> Form:
    """The value without its last field if the reply was cut off inside it: half a number is a wrong one.

    Of a list the last item goes; a required text stays, since nothing is concluded from it alone.
    """
    value = completion.value
    if completion.whole or not value.model_fields_set:
        return value
    last = max(value.model_fields_set, key=lambda name: completion.spans.get(name, (-1, -1)))
    held = getattr(value, last)
    if isinstance(held, list):
        return value.model_copy(update={last: held[:-1]})
    field = type(value).model_fields[last]
    if field.is_required():
        return value
    return value.model_copy(update={last: field.get_default(call_default_factory=True)})


def no_answer(context: Context) -> Reply:
    """An honest "I don't know": for want of evidence, or of an answer in it."""
    reason = Reason.MODEL_UNSURE if context.evidence else Reason.NO_EVIDENCE
    return Reply(None, 0.0, reason=reason)


def draft_with_tools(completion: Completion[Understanding], query: Query, cases: Iterable[Case]) -> Draft:
    """Return the draft with its tools. A question that is not self-contained is always looked up."""
    value, draft = whole(completion), draft_of(completion, query, cases)
    tools = set[Tool]()
    if value.image_search is not None and query.photo is not None:
        tools.add(Tool.IMAGE_SEARCH)
    if value.text_search or not draft.self_contained:
        tools.add(Tool.TEXT_SEARCH)
    return replace(draft, tools=frozenset(tools), sub_queries=queries(value.text_search))


def draft_of(completion: Completion[Any], query: Query, cases: Iterable[Case]) -> Draft:
    """Return the draft, without tools, of either form of a first look. `cases`: examples in the prompt."""
    value: ChainOfThought | Understanding = whole(completion)
    object_label = label(value.object_label if isinstance(value, ChainOfThought) else value.image_search)
    answer = spoken_answer(value.answer)
    if answer is not None and answer in {case.reply.get("answer") for case in cases}:
        answer = None  # a small model repeated an example from its prompt
    in_photo = query.photo is not None and value.answerability is Answerability.IN_PHOTO
    measured = completion.probabilities_of("answer") if answer is not None else None
    return Draft(
        object_label=object_label,
        entity=entity_name(value.entity, object_label),
        reasoning="\n".join(step for step in map(one_line, value.reasoning) if step),
        answer=answer,
        confidence=confidence(measured),
        self_contained=answer is not None and in_photo,
        tools=frozenset(),
        sub_queries=(),
        token_probabilities=measured,
    )


def confidence(probabilities: tuple[float, ...] | None) -> float | None:
    """Return the mean token probability (s_mean of QA-Dragon, 3.7.2); None if there is none."""
    return min(1.0, sum(probabilities) / len(probabilities)) if probabilities else None


LABEL_WORDS = 3
MARKED_LABEL_WORDS = LABEL_WORDS + 1
"""A label with the word that tells it from its like ("red sports car")."""
QUERY_CHARS = 200
MAX_QUERIES = 4

_SLOT = re.compile(r"[{\[<]+\s*(?:the\s+)?entity(?:[ _]name)?\s*[}\]>]+", re.IGNORECASE)
_MARK_AT_START = re.compile(r"^\s*(?:[-*•]+|\d{1,2}[.)])\s+")
_LABEL_END = re.compile(r"[.;:!?\n(]")
_GENERIC = frozenset({"thing", "object", "item", "photo", "image", "picture", "something", "it", "this"})


def whole_words(text: str, most_chars: int) -> str:
    """Return as many whole words as fit; of a first one that is too long, its beginning."""
    if len(text) <= most_chars:
        return text
    return text[: most_chars + 1].rpartition(" ")[0] or text[:most_chars]


def without_thoughts(text: str) -> str:
    """Return the text after a model's thoughts; empty if they do not end."""
    return text[thoughts_end(text) :].partition("<think>")[0].strip()


def label(text: str | None, most_words: int = LABEL_WORDS) -> str | None:
    """A category for the detector: a few plain words in lower case, or None."""
    if text is None:
        return None
    plain = _LABEL_END.split(_MARK_AT_START.sub("", one_line(text)))[0]
    words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", plain.casefold())
    phrase = " ".join(words[:most_words])
    return phrase if phrase and phrase not in _GENERIC else None


def labels(texts: Iterable[str], most: int) -> tuple[str, ...]:
    plain = [cleaned for text in texts if (cleaned := label(text)) is not None]
    return tuple(unique(plain)[:most])


def listed_label(text: str | None, listed: Sequence[str]) -> str | None:
    """Return the entry of `listed` that the model means, with its telling word if it gave one; else None."""
    choice = label(text, MARKED_LABEL_WORDS)
    if choice is None:
        return None
    same = next((entry for entry in listed if squeeze(entry) == squeeze(choice)), None)
    if same is not None:
        return same
    wider = (
        entry for entry in listed if content_stems(entry) and content_stems(entry) <= content_stems(choice)
    )
    return choice if next(wider, None) is not None else None


def entity_name(text: str | None, object_label: str | None) -> str | None:
    """Return a proper name on one line; a mere kind ("car") is none."""
    if text is None:
        return None
    name = without_markup(text).strip(" .\"'“”")
    is_kind = fold(name) in _GENERIC or squeeze(name) == squeeze(object_label or "")
    has_letters = any(character.isalnum() for character in name)
    return name if has_letters and not is_kind else None


def search_phrase(text: str) -> str:
    """Return a search of one line and at most `QUERY_CHARS`; no placeholder but `{entity}`."""
    plain = _MARK_AT_START.sub("", one_line(text)).strip("\"'“”` ")
    pieces = [re.sub(r"[{}\[\]<>|]+", " ", piece) for piece in _SLOT.split(plain)]
    return whole_words(one_line(ENTITY_SLOT.join(pieces)), QUERY_CHARS)


def queries(texts: Iterable[str], most: int = MAX_QUERIES) -> tuple[str, ...]:
    """Searches, each once, in order; those that ask nothing are dropped."""
    phrases = (search_phrase(text) for text in texts)
    searches = (text for text in phrases if squeeze(text.replace(ENTITY_SLOT, "")))
    return tuple(unique(searches)[:most])
