"""Convert the gateway's passages to the reader's request, and its reply to answers."""

from collections.abc import Iterable, Iterator, Sequence

from chassis.errors import DependencyUnavailable
from contracts.answer import CitationKind
from contracts.geometry import Box
from contracts.reader import PassageKind, ReadAnswer, ReadPassage, ReadReply, ReadRequest, ReadTurn
from gateway.state import Found, ToRead, Turn

# The contract's limits. Longer text is cut, not refused: a long page is not the caller's mistake.
_QUESTION_CHARS, _SUBJECT_CHARS, _ANSWER_CHARS = 4_096, 1_000, 8_192
_TEXT_CHARS, _TITLE_CHARS, _BOXES = 20_000, 1_000, 512
_PASSAGES, _TURNS, _ANSWERS = 64, 16, 16
_CHARS = 200_000
"""Of all passages together, titles included; later passages are left out."""

_KIND = {
    CitationKind.PAGE: PassageKind.PAGE,
    CitationKind.WEB: PassageKind.PAGE,
    CitationKind.IMAGE: PassageKind.ATTRIBUTE,
    CitationKind.PHOTO: PassageKind.PHOTO,
}


def read_request(
    question: str, passages: Sequence[ToRead], subject: str | None, history: Sequence[Turn], top_n: int
) -> ReadRequest:
    """Return the request, cut to the contract's limits; offsets and indices do not change."""
    return ReadRequest(
        question=question[:_QUESTION_CHARS],
        passages=list(_within(map(_passage, passages[:_PASSAGES]))),
        subject=subject[:_SUBJECT_CHARS] if subject else None,
        history=[_turn(each) for each in history[-_TURNS:]],
        top_n=min(top_n, _ANSWERS),
    )


def answers_found(reply: ReadReply, passages: Sequence[ReadPassage]) -> tuple[Found, ...]:
    """Return the reply's answers. Raises `DependencyUnavailable` for a span outside its passage."""
    return tuple(_found(answer, passages) for answer in reply.answers)


def _passage(passage: ToRead) -> ReadPassage:
    boxes = [
        Box(left=left, top=top, right=right, bottom=bottom) for left, top, right, bottom in passage.boxes
    ]
    return ReadPassage(
        text=passage.text[:_TEXT_CHARS],
        title=passage.title[:_TITLE_CHARS],
        kind=_KIND[passage.kind],
        boxes=boxes[:_BOXES],
    )


def _within(passages: Iterable[ReadPassage]) -> Iterator[ReadPassage]:
    """Yield the first passages that together are not too long."""
    left = _CHARS
    for each in passages:
        left -= len(each.text) + len(each.title)
        if left < 0:
            return
        yield each


def _turn(turn: Turn) -> ReadTurn:
    return ReadTurn(question=turn.question[:_QUESTION_CHARS], answer=turn.answer[:_ANSWER_CHARS])


def _found(answer: ReadAnswer, passages: Sequence[ReadPassage]) -> Found:
    span, index = answer.span, answer.passage_index
    if not 0 <= index < len(passages) or passages[index].text[span.start : span.end] != span.text:
        raise DependencyUnavailable("reader sent a reply that breaks its contract.")
    return Found(
        passage=index,
        span=span.text,
        sentence=answer.sentence.text,
        spoken=answer.spoken,
        probability=answer.probability,
        start=span.start,
        end=span.end,
    )
