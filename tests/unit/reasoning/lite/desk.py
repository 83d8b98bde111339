"""What the lite reasoner's tests build by hand: questions, print, evidence, and a reader of few wits.

The reader takes and gives the contract's own messages: nothing reaches it that a service would refuse.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Route
from contracts.reader import ReadAnswer, ReadPassage, ReadReply, ReadRequest, TextSpan
from gateway.clients.conversion import read_request, readings
from gateway.reasoning.lite.reasoner import LiteReasoner
from gateway.state import (
    Context,
    Draft,
    Entity,
    Evidence,
    GenerationBudget,
    Photo,
    PhotoText,
    Query,
    Reading,
    Reply,
    TextLine,
    ToRead,
    Turn,
    photo_evidence,
)
from language.sentences import Sentence, sentences
from language.words import content_stems

PHOTO = Photo(b"jpeg", 960, 1280, "digest")
BASILICA = "Basilica of Saint Odile"


def minute() -> Deadline:
    """Time enough."""
    return Deadline.after_ms(60_000)


@dataclass
class WordReader:
    """Answers with the sentence that shares most words with the question; how many is its probability.

    `asked`: the requests. `error`: what it raises instead, if anything.
    """

    error: LoreglassError | None = None
    requests: list[ReadRequest] = field(default_factory=list)

    async def __call__(
        self,
        question: str,
        passages: Sequence[ToRead],
        subject: str | None,
        deadline: Deadline,
    ) -> tuple[Reading, ...]:
        """See `gateway.reasoning.port.Read`."""
        request = read_request(question, passages, subject)
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        results = [
            answer
            for index, passage in enumerate(request.passages)
            for sentence in sentences(passage.text)
            if (answer := _answer(request, index, passage, sentence)) is not None
        ]
        best = sorted(results, key=lambda each: -each.probability)[:1]
        return readings(ReadReply(model="words", answers=best), request.passages)


def _answer(request: ReadRequest, index: int, passage: ReadPassage, sentence: Sentence) -> ReadAnswer | None:
    wanted = content_stems(f"{request.question} {request.subject or ''}")
    shared = wanted & content_stems(f"{passage.title} {sentence.text}")
    if not shared:
        return None
    span = TextSpan(start=sentence.start, end=sentence.end, text=sentence.text)
    return ReadAnswer(
        passage_index=index,
        span=span,
        sentence=span,
        spoken=sentence.text,
        probability=round(0.9 * len(shared) / len(wanted), 4),
    )


def ask(question: str, *history: Turn, photo: bool = True, new: bool | None = None) -> Query:
    """A question about a photo, after the given turns; the photo is new where there are none."""
    return Query(question, PHOTO if photo else None, not history if new is None else new, tuple(history))


def turn(question: str, answer: str, entity: Entity | None = None) -> Turn:
    """An answered turn."""
    return Turn(question, answer, False, entity)


def line(
    text: str, top: float = 0.1, height: float = 0.06, width: float = 0.5, score: float = 0.98
) -> TextLine:
    """A printed line."""
    return TextLine(text, score, (0.2, top, 0.2 + width, top + height))


def sign(*texts: str) -> PhotoText:
    """Lines of one size below each other, as on a sign that fills the photo."""
    return PhotoText(tuple(line(text, 0.1 + 0.08 * row) for row, text in enumerate(texts)))


def thing(name: str, probability: float = 0.95, **attributes: str) -> Entity:
    """A candidate of image search."""
    return Entity(name, probability, tuple(attributes.items()))


def page(text: str, title: str = "") -> Evidence:
    """A chunk of a page."""
    return Evidence(text, title, "https://pages.example/1", CitationKind.PAGE, 0.8)


def known(entity: Entity) -> tuple[Evidence, ...]:
    """The sentences of its attributes."""
    return tuple(
        Evidence(
            f"The {key} of {entity.name} is {value}.", entity.name, "", CitationKind.IMAGE, 0.9, entity.name
        )
        for key, value in entity.attributes
    )


async def drafted(
    question: Query, printed: PhotoText | None = None, reader: WordReader | None = None
) -> Draft:
    """The first look."""

    async def read() -> PhotoText:
        return printed or PhotoText()

    reasoner = LiteReasoner(reader or WordReader())
    return await reasoner.draft(question, None, read, minute())


async def selected(question: Query, *candidates: Entity, printed: PhotoText | None = None) -> Entity | None:
    """The thing that the question is about."""
    draft, reasoner = await drafted(question, printed), LiteReasoner(WordReader())
    return await reasoner.select_entity(question, draft, candidates, printed or PhotoText(), minute())


async def answered(
    question: Query,
    *evidence: Evidence,
    entity: Entity | None = None,
    printed: PhotoText | None = None,
    reader: WordReader | None = None,
) -> Reply:
    """The answer from the evidence, the attributes of `entity` and the print; its quotes stand in them."""
    shown = printed or PhotoText()
    pieces = (*(known(entity) if entity else ()), *evidence, *photo_evidence(shown))
    context = Context(Route.RAG, entity, shown, pieces)
    draft = await drafted(question, printed)
    reply = await LiteReasoner(reader or WordReader()).answer(
        question, draft, context, GenerationBudget(), minute()
    )
    assert all(quote.text in pieces[quote.index].text for quote in reply.quotes)
    return reply
