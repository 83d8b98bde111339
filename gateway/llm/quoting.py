"""Which words of the evidence the answer rests on: verbatim sentences, because a model's quotes are not."""

from collections.abc import Sequence

from gateway.state import Evidence, PhotoText, Quote
from language.sentences import sentences
from language.words import content_stems

LEAST_SHARE = 0.5
"""Share of the answer's content words that an uncited sentence must have to count as its source."""
LONGEST = 600
"""Characters of one quote; a page without full stops is one long "sentence"."""


def quotes(
    answer: str, reason: str, evidence: Sequence[Evidence], cited: Sequence[int], shown: Sequence[int]
) -> tuple[Quote, ...]:
    """One sentence of each cited piece: that with most of the answer's words, then most of the reason's.

    When nothing is cited, the one sentence of all that were shown that has most of the answer, if it has
    enough of it. `cited` and `shown` are indices of `evidence`.
    """
    if cited:
        found = (_closest(answer, reason, evidence, index) for index in cited)
        return tuple(quote for quote in found if quote is not None)
    likely = (_closest(answer, "", evidence, index) for index in shown)
    best = max(
        (quote for quote in likely if quote is not None),
        key=lambda quote: _share(answer, quote.text),
        default=None,
    )
    return (best,) if best is not None and _share(answer, best.text) >= LEAST_SHARE else ()


def printed_quotes(answer: str, photo_text: PhotoText) -> tuple[str, ...]:
    """The printed lines whose words all stand in the answer: what it was read from."""
    spoken = content_stems(answer)
    lines = (line.text for line in photo_text.lines)
    return tuple(dict.fromkeys(line for line in lines if (stems := content_stems(line)) and stems <= spoken))


def _closest(answer: str, reason: str, evidence: Sequence[Evidence], index: int) -> Quote | None:
    """The sentence that shares most with the answer; None if none shares anything with answer or reason."""
    item = evidence[index]
    asked, thought = content_stems(answer), content_stems(reason)
    scored = [
        ((len(asked & stems), len(thought & stems), -len(stems)), sentence.text[:LONGEST])
        for sentence in sentences(item.text)
        if (stems := content_stems(sentence.text)) & (asked | thought)
    ]
    best = max(scored, key=lambda pair: pair[0], default=None)
    return Quote(index, best[1]) if best is not None else None


def _share(answer: str, sentence: str) -> float:
    stems = content_stems(answer)
    return len(stems & content_stems(sentence)) / len(stems) if stems else 0.0
