"""The lite reasoner: which thing is meant, what is searched, and what is said without a reader's help."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from chassis.errors import DependencyUnavailable, LoreglassError, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason, Route
from contracts.reader import ReadAnswer, ReadPassage, ReadReply, ReadRequest, TextSpan
from gateway.clients.conversion import read_request, readings
from gateway.reasoning.lite.question import About, needs_photo, parse_question, search_queries
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
MINUTE = Deadline.after_ms(60_000)


@dataclass
class WordReader:
    """A reader that answers with the sentence that shares most words with the question.

    The share of common words is its probability. It validates requests and replies against the contract.
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
        request = read_request(question, passages, subject)
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        results = [
            _answer(request, index, passage, sentence)
            for index, passage in enumerate(request.passages)
            for sentence in sentences(passage.text)
        ]
        best = sorted((each for each in results if each.probability), key=lambda each: -each.probability)[:1]
        return readings(ReadReply(model="words", answers=best), request.passages)


def _answer(request: ReadRequest, index: int, passage: ReadPassage, sentence: Sentence) -> ReadAnswer:
    wanted = content_stems(f"{request.question} {request.subject or ''}")
    shared = wanted & content_stems(f"{passage.title} {sentence.text}")
    span = TextSpan(start=sentence.start, end=sentence.end, text=sentence.text)
    return ReadAnswer(
        passage_index=index,
        span=span,
        sentence=span,
        spoken=sentence.text,
        probability=round(0.9 * len(shared) / len(wanted), 4),
    )


def ask(question: str, *history: Turn, photo: bool = True, new: bool | None = None) -> Query:
    """Return a question about a photo after the given turns. Without turns, the photo is new."""
    return Query(question, PHOTO if photo else None, not history if new is None else new, tuple(history))


def sign(*texts: str) -> PhotoText:
    """Return lines of equal size, one below the other, as on a sign that fills the photo."""
    tops = [0.1 + 0.08 * row for row in range(len(texts))]
    return PhotoText(
        tuple(
            TextLine(text, 0.98, (0.2, top, 0.7, top + 0.06)) for text, top in zip(texts, tops, strict=True)
        )
    )


def thing(name: str, probability: float = 0.95, **attributes: str) -> Entity:
    """Return a candidate of image search."""
    return Entity(name, probability, tuple(attributes.items()))


def page(text: str, title: str = "") -> Evidence:
    """Return a chunk of a page."""
    return Evidence(text, title, "https://pages.example/1", CitationKind.PAGE, 0.8)


def attribute_evidence(entity: Entity) -> tuple[Evidence, ...]:
    """Return one sentence as evidence for each attribute of the entity."""
    return tuple(
        Evidence(
            f"The {key} of {entity.name} is {value}.", entity.name, "", CitationKind.IMAGE, 0.9, entity.name
        )
        for key, value in entity.attributes
    )


async def drafted(question: Query, printed: PhotoText | None = None) -> Draft:
    """Return the draft for a question and the text in its photo."""

    async def read() -> PhotoText:
        return printed or PhotoText()

    return await LiteReasoner(WordReader()).draft(question, None, read, MINUTE)


async def selected(question: Query, *candidates: Entity, printed: PhotoText | None = None) -> Entity | None:
    """Return the candidate that the question is about, if any."""
    draft, reasoner = await drafted(question, printed), LiteReasoner(WordReader())
    return await reasoner.select_entity(question, draft, candidates, printed or PhotoText(), MINUTE)


async def answered(
    question: Query,
    *evidence: Evidence,
    entity: Entity | None = None,
    printed: PhotoText | None = None,
    reader: WordReader | None = None,
) -> Reply:
    """Answer from the evidence, the attributes of `entity` and the photo's text, and check the quotes."""
    shown = printed or PhotoText()
    pieces = (*(attribute_evidence(entity) if entity else ()), *evidence, *photo_evidence(shown))
    context = Context(Route.RAG, entity, shown, pieces)
    draft = await drafted(question, printed)
    reply = await LiteReasoner(reader or WordReader()).answer(
        question, draft, context, GenerationBudget(), MINUTE
    )
    assert all(quote.text in pieces[quote.index].text for quote in reply.quotes)
    return reply


CHURCH = thing(BASILICA, 0.97, country="France", architect="Jean Morel")
NOVEL = thing("The Glass Harbour", 0.95, author="Ines Valdern", pages="288 pages")
CATHEDRAL = ("St Paul's Cathedral", "Christopher Wren")
WREN = Turn("Who designed St Paul's Cathedral?", "Christopher Wren designed St Paul's Cathedral.", False)


@pytest.mark.parametrize(
    ("query", "about", "names"),
    [
        (ask("Who designed this church?"), About.VIEW, ()),
        (ask("Height?"), About.VIEW, ()),
        (ask("When was the Great Mosque of Kairouan built?"), About.NAMED, ("Great Mosque of Kairouan",)),
        (ask("How tall is Monte Rosa?", photo=False), About.NAMED, ("Monte Rosa",)),
        (ask("when was it built?", WREN, photo=False), About.SPOKEN, CATHEDRAL),
        (ask("What is a flying buttress?", photo=False), About.OTHER, ()),
        (ask("who designed it?", WREN, new=True), About.VIEW, ()),
        (ask("who put the book I'm holding into English?"), About.VIEW, ("English",)),
        (ask("who lived in the house in front of us in Rome?"), About.VIEW, ("Rome",)),
    ],
)
def test_question_refers_to_photo_name_or_history(query: Query, about: About, names: tuple[str, ...]) -> None:
    question = parse_question(query)
    assert (question.about, question.names) == (about, names)


def test_elliptical_question_is_joined_with_the_previous_one() -> None:
    assert parse_question(ask("And when?", WREN, photo=False)).text == f"{WREN.question} And when?"


@pytest.mark.parametrize(
    ("question", "compares"),
    [
        ("Is this church older than Notre-Dame?", True),
        ("Is there more sugar in this or in Rye Crackers?", True),
        ("Which is more recent, this painting or Monte Rosa?", True),
        ("Can you tell me, how much taller is this than the Old Mill?", True),
        ("Is this a river or a lake?", False),
        ("By what year had it sold more than 400,000 copies?", False),
        ("Is the battery bigger than 4000 mAh?", False),
        ("Which ships other than warships were built here?", False),
        ("Who designed the newer wing?", False),
    ],
)
async def test_a_comparison_is_refused(question: str, compares: bool) -> None:
    result = page(f"{BASILICA} has a river, a lake and a newer wing, and more.")
    reply = await answered(ask(question), result, entity=CHURCH)
    assert parse_question(ask(question)).compares is compares
    assert not compares or (reply.answer, reply.reason) == (None, Reason.LOW_CONFIDENCE)


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        (ask("What is this?", photo=False), True),
        (ask("What is this?"), False),
        (ask("And this?", WREN, photo=False), False),
        (ask("Who wrote this Harbour Song?", photo=False), False),
        (ask("How tall is it?", photo=False), False),
    ],
)
def test_deictic_question_without_a_photo_needs_one(query: Query, needed: bool) -> None:
    assert needs_photo(query) is needed


@pytest.mark.parametrize(
    ("query", "printed", "searches"),
    [
        (ask("Who wrote it?"), None, ("{entity} Who wrote it?", "{entity}")),
        (ask("Price?"), "Olive Barge", ("{entity} Price?", "Olive Barge Price?", "Olive Barge", "{entity}")),
        (ask("How tall is Monte Rosa?", photo=False), None, ("How tall is Monte Rosa?",)),
    ],
)
def test_search_queries_contain_the_entity_name(
    query: Query, printed: str | None, searches: tuple[str, ...]
) -> None:
    assert search_queries(parse_question(query), printed) == searches


async def test_entity_in_the_photo_is_selected_unless_another_is_named() -> None:
    assert await selected(ask("Who designed this?"), CHURCH) == CHURCH
    assert await selected(ask("How tall is Monte Rosa?"), CHURCH) == Entity("Monte Rosa", 1.0)
    assert await selected(ask("Who designed the Basilica of Saint Odile?"), CHURCH) == CHURCH


async def test_candidate_contradicted_by_large_print_is_rejected() -> None:
    doubtful = thing("The Iron Garden", 0.6)
    result = await selected(ask("Who wrote this?"), doubtful, printed=sign("THE GLASS HARBOUR"))
    assert result is not None
    assert result.name == "The Glass Harbour"


@pytest.mark.parametrize(
    "question",
    [
        "What is this?",
        "What church is this?",
        "Which building is that over there?",
        "What landmark am I looking at?",
        "Do you know which place this is?",
    ],
)
async def test_entity_name_is_answered_without_the_reader(question: str) -> None:
    church, reader = thing(BASILICA, 0.97, kind="church"), WordReader()
    reply = await answered(ask(question), entity=church, reader=reader)
    assert (reply.answer, reply.confidence) == (f"{BASILICA}.", 0.97)
    assert reply.quotes
    assert not reader.requests


@pytest.mark.parametrize(
    "question",
    [
        "What city is this in?",
        "What is this made of?",
        "What does this cost?",
        "Which animal is on this flag?",
    ],
)
async def test_question_about_more_than_the_name_uses_the_reader(question: str) -> None:
    reader = WordReader()
    await answered(ask(question), page(f"{BASILICA} is red."), entity=thing(BASILICA, 0.97), reader=reader)
    assert reader.requests


async def test_small_print_does_not_name_the_entity() -> None:
    watermark = PhotoText((TextLine("Photos of every place", 0.98, (0.8, 0.96, 0.99, 0.99)),))
    question = ask("What is this place called?")
    assert (await drafted(question, watermark)).answer is None
    assert (await answered(question, printed=watermark)).answer is None


async def test_printed_text_is_returned_without_the_reader() -> None:
    reply = await answered(ask("What does this sign say?"), printed=sign("NO BATHING", "June to August"))
    assert reply.answer == "NO BATHING June to August"
    assert [quote.text for quote in reply.quotes] == ["NO BATHING", "June to August"]


async def test_records_and_pages_are_read_with_the_entity_name() -> None:
    reader = WordReader()
    history = page("The Glass Harbour was sold at fairs.", "The Glass Harbour")
    reply = await answered(ask("How many pages does it have?"), history, entity=NOVEL, reader=reader)
    assert reply.answer == "The pages of The Glass Harbour is 288 pages."
    assert {request.subject for request in reader.requests} == {NOVEL.name}


async def test_pages_need_a_known_entity_or_a_printed_title() -> None:
    menu = page("The chef of the restaurant is Walter Brandt.", "The Olive Barge")
    question = ask("who is the chef of this restaurant?")
    assert (await answered(question, menu)).answer is None
    assert (await answered(question, menu, printed=sign("HOUSE OF LANTERNS", "Soup 4.50"))).answer is None
    assert (await answered(question, menu, printed=sign("The Olive Barge", "Soup 4.50"))).answer
    assert (await answered(ask("who is the chef of the Olive Barge?"), menu)).answer


async def test_pages_about_other_entities_are_not_read() -> None:
    reader, other = WordReader(), page("Mont Blanc is 4,806 m tall.", "Mont Blanc")
    assert (await answered(ask("How tall is Kilimanjaro Peak?"), other, reader=reader)).answer is None
    assert not reader.requests


async def test_records_of_other_entities_are_not_read() -> None:
    reply = await answered(ask("Who is the architect of the Olive Barge?"), entity=CHURCH)
    assert reply.answer is None


async def test_follow_up_is_read_about_the_previous_entity() -> None:
    reader = WordReader()
    cathedral = page("St Paul's Cathedral was built in 1710.", "St Paul's Cathedral")
    question = ask("When was it built?", WREN, photo=False)
    assert (await answered(question, cathedral, reader=reader)).answer == cathedral.text
    assert reader.requests[0].subject == "St Paul's Cathedral"


async def test_unanswerable_question_has_its_reason() -> None:
    foreign = await answered(ask("Wer hat dieses Buch geschrieben?"), entity=NOVEL)
    unseen = await answered(ask("Who wrote this?", photo=False))
    nothing = await answered(ask("Who wrote this?"), entity=NOVEL, reader=WordReader(Overloaded()))
    away = await answered(ask("Who wrote this?"), entity=NOVEL, reader=WordReader(DependencyUnavailable()))
    reasons = (Reason.LANGUAGE, Reason.NEEDS_PHOTO, Reason.OVERLOADED, Reason.UNAVAILABLE)
    for reply, reason in zip((foreign, unseen, nothing, away), reasons, strict=True):
        assert (reply.answer, reply.reason) == (None, reason)


async def test_draft_answers_from_print_and_suggests_queries() -> None:
    draft = await drafted(ask("How much is the soup?"), sign("The Olive Barge", "Soup 4.50"))
    assert "Soup 4.50" in (draft.answer or "")
    assert draft.self_contained
    assert draft.sub_queries[0] == "{entity} How much is the soup?"


async def test_a_question_about_the_thing_in_view_reads_no_page_about_another_thing() -> None:
    reader = WordReader()
    flood = page("A weaver's daughter got away from there.", "The flood")
    prison = page("One prisoner escaped over the roof.", BASILICA)
    question = ask("Which prisoner got away from there?")
    await answered(question, flood, prison, entity=thing(BASILICA, 0.97), reader=reader)
    assert [each.text for each in reader.requests[-1].passages] == [prison.text]


@pytest.mark.parametrize("question", ["How much is a ticket?", "Can I smoke?", "Who escaped from there?"])
async def test_a_short_question_of_its_own_is_read_without_the_one_before(question: str) -> None:
    reader = WordReader()
    before = Turn("When was it begun?", "It was begun in 1340.", thing(BASILICA, 0.97))
    await answered(ask(question, before), page(f"{BASILICA} sells tickets."), reader=reader)
    assert {each.question for each in reader.requests} == {question}
