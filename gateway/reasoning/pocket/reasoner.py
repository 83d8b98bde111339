"""The pocket reasoner: works out what is asked and what to search, and lets the reader service read."""

from collections.abc import Sequence
from dataclasses import replace

import anyio

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason
from contracts.domain_router import Domain
from gateway.reasoning.calls import did_without
from gateway.reasoning.pocket.asking import About, Asked, complete, is_about, search_queries, understand
from gateway.reasoning.pocket.composing import compare, joined, verdict
from gateway.reasoning.pocket.photo import photo_evidence, printed_name, readable, recognised
from gateway.reasoning.pocket.reading import Passages, Reading
from gateway.reasoning.port import Read, ReadPhoto, Seek
from gateway.state import (
    Context,
    Draft,
    Entity,
    GenerationBudget,
    PhotoText,
    Query,
    Quote,
    Reply,
    Tool,
    Turn,
)
from language.comparatives import comparison
from language.dialogue import asks_name, asks_print, halves, kind_asked
from language.identification import is_english
from language.names import mentions, same_name
from language.paraphrase import expansions
from language.questions import AnswerType, read_question
from language.reference import Description, description, named, pointer
from language.sentences import sentences
from language.words import content_stems

LIKELY = 0.5
"""Probability from which an answer is rather right than wrong: what is less likely, half an answer is not."""
WAITING_SHARE = 0.6
"""Of the time that is left, at most for print and pictures: without them there is still the question."""
_MOST_SPOKEN = 25
"""Words of a photo's print that are read out."""
MOST_HOPS = 2
"""Descriptions in a question that are resolved one after the other."""
_READER = "reader"
_LOST = {
    DeadlineExceeded: Reason.TIMED_OUT,
    Overloaded: Reason.OVERLOADED,
    DependencyUnavailable: Reason.UNAVAILABLE,
}


class PocketReasoner:
    """A `Reasoner` without a model; it keeps nothing between calls. `read`: the reader service."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def drafts(self, query: Query) -> bool:
        """See the port: the reader drafts for every question, from its words and the photo's print."""
        return True

    async def rewrite(self, query: Query, deadline: Deadline) -> str:
        """See the port."""
        return complete(query)

    async def draft(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, seek: Seek, deadline: Deadline
    ) -> Draft:
        """What is asked, what to look up, and what the photo's own print answers."""
        return await self.read_off(query, read_photo, deadline)

    async def read_off(self, query: Query, read_photo: ReadPhoto, deadline: Deadline) -> Draft:
        """The draft, which needs no more than the question and the photo's print."""
        asked, printed, found = understand(query), PhotoText(), None
        if query.photo is not None and is_english(query.question):
            with anyio.move_on_after(deadline.remaining_s() * WAITING_SHARE):
                printed = readable(await read_photo())
        name, called = printed_name(printed), asked.names if asked.about is About.NAMED else ()
        meant = not called or any(mentions(printed.plain, each) for each in called)
        if printed.lines and meant and asked.plain:
            passages = Passages(self._read, query, photo_evidence(printed), printed, name, deadline)
            try:  # of what the title names nothing is known yet
                found = _told(passages, asked) or await replace(passages, entity=None).answer(asked)
            except tuple(_LOST):
                did_without(_READER)  # the searches may find more, and the answer is read once more
        return _draft(query, asked, found, name)

    async def select_entity(
        self,
        query: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """The thing named, or spoken of; else what picture and print agree on, if that is asked about."""
        asked = understand(query)
        if asked.about in (About.NAMED, About.SPOKEN):
            if asked.about is About.NAMED and len(asked.names) > 1:
                return None
            known = (*candidates, *(turn.entity for turn in reversed(query.history) if turn.entity))
            name = asked.names[0]
            return next((each for each in known if same_name(each.name, name)), Entity(name, 1.0))
        printed = readable(photo_text)
        thing = recognised(candidates, printed)
        thing = printed_name(printed) if thing is None and asked.about is About.VIEW else thing
        return thing if thing is not None and is_about(asked, thing) else None

    async def next_hop(
        self, query: Query, draft: Draft, context: Context, deadline: Deadline
    ) -> tuple[str, ...]:
        """Searches for what a description in the question turned out to stand for."""
        asked = understand(query)
        described = description(asked.text)
        if described is None or not is_english(query.question):
            return ()
        value = await self._passages(query, context, deadline).resolve(described, asked)
        return (described.replaced(asked.text, value.value), value.value) if value else ()

    async def answer(
        self, query: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """What the reader finds in the evidence, with the sentences that say so; None where nothing is."""
        if not is_english(query.question):
            return Reply(None, 0.0, reason=Reason.LANGUAGE)
        if (
            query.photo is None
            and not query.history
            and pointer(query.question)
            and not named(query.question)
        ):
            return Reply(None, 0.0, reason=Reason.NEEDS_PHOTO)
        try:
            return await self._answer(query, context, deadline)
        except tuple(_LOST) as error:
            did_without(_READER)
            return Reply(None, 0.0, reason=_LOST[type(error)])

    async def judge(
        self, query: Query, reply: Reply, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> float | None:
        """Reads again without the quoted passages: whether others say the same. None if they say nothing."""
        evidence = context.evidence
        if reply.answer is None or reply.confidence is None or not reply.says_something:
            return 0.0
        quoted = {quote.index for quote in reply.quotes}
        others = tuple(item for index, item in enumerate(evidence) if index not in quoted)
        thing = next((Entity(item.entity, 1.0) for item in evidence if item.entity), None)
        found = await Passages(self._read, query, others, PhotoText(), thing, deadline).answer(
            understand(query)
        )
        if found is None:
            return None
        if content_stems(found.value) & content_stems(reply.answer):
            return max(reply.confidence, found.confidence)
        return reply.confidence * (1 - found.confidence if found.confidence >= LIKELY else 1.0)

    async def _answer(self, query: Query, context: Context, deadline: Deadline) -> Reply:
        """Each half of the question by itself; a later half may speak of an earlier one's answer."""
        parts, readings = halves(complete(query)), list[Reading | None]()
        for part in parts:
            passages = self._passages(query, context, deadline)
            reading = await self._one(passages, understand(query, part), MOST_HOPS)
            readings.append(reading)
            if reading is not None and reading.confidence >= LIKELY:
                query = replace(
                    query, history=(*query.history, Turn(part, reading.spoken, False, context.entity))
                )
        best = joined(parts, readings, LIKELY) if len(parts) > 1 else readings[0]
        if best is None:
            return Reply(None, 0.0, reason=Reason.MODEL_UNSURE)
        return Reply(best.spoken, best.confidence, tuple(dict.fromkeys(best.quotes)), remark=best.remark)

    async def _one(self, passages: Passages, asked: Asked, hops: int) -> Reading | None:
        """The answer to a single question: read directly, or by way of what it describes."""
        compared, described = comparison(asked.text), description(asked.text)
        if compared is not None:
            return await compare(passages, asked, compared)
        if told := _told(passages, asked):
            return told
        if read_question(asked.text).wanted is AnswerType.YES_NO:
            return await verdict(passages, asked)
        found = await passages.answer(asked)
        if found and described and not _says_rest(found, described, asked):
            found = None  # it says who the author is, not where she lives
        value = await passages.resolve(described, asked) if described and hops else None
        if described is None or value is None:
            return found
        outer, name = described.replaced(asked.text, value.value), value.value
        further = Asked(outer, About.LED_TO, (name,), content_stems(name))
        led = await self._one(passages, further, hops - 1)
        if led is None or led.confidence * value.confidence <= (found.confidence if found else 0.0):
            return found
        return replace(led, confidence=led.confidence * value.confidence, quotes=(*value.quotes, *led.quotes))

    def _passages(self, query: Query, context: Context, deadline: Deadline) -> Passages:
        printed = readable(context.photo_text)
        return Passages(self._read, query, context.evidence, printed, context.entity, deadline)


def _draft(query: Query, asked: Asked, found: Reading | None, name: Entity | None) -> Draft:
    shown, known = pointer(asked.text), asked.about in (About.NAMED, About.SPOKEN)
    tools = {Tool.TEXT_SEARCH} if query.photo is None or known else {Tool.TEXT_SEARCH, Tool.IMAGE_SEARCH}
    return Draft(
        object_label=(shown.nouns or None) if shown else None,
        entity=asked.names[0] if known and (asked.about is About.SPOKEN or len(asked.names) == 1) else None,
        reasoning=f"The question is about {asked.about.value}.",
        answer=found.spoken if found else None,
        confidence=found.confidence if found else 0.0,
        self_contained=found is not None,
        tools=frozenset(tools),
        sub_queries=search_queries(query, name.name if name and asked.about is About.VIEW else None),
        quotes=tuple(quote.text for quote in found.quotes) if found else (),
    )


def _says_rest(found: Reading, described: Description, asked: Asked) -> bool:
    """Whether the sentence tells what is asked beside the description: the job, not just its author."""
    said = content_stems(found.sentence) - content_stems(described.phrase.text)
    known = content_stems(described.phrase.text) | set(read_question(asked.text).focus)
    rest = content_stems(described.replaced(asked.text, "")) - known
    return any(stem in said or not said.isdisjoint(expansions(stem)) for stem in rest)


def _told(passages: Passages, asked: Asked) -> Reading | None:
    """What needs no reading: the print itself, or the thing's name, where nothing else is asked."""
    lines, thing, evidence = passages.printed.lines, passages.entity, passages.evidence
    place = next((index for index, item in enumerate(evidence) if item.kind is CitationKind.PHOTO), None)
    if asks_print(asked.text) and lines and place is not None:
        said = " ".join(passages.printed.plain.split()[:_MOST_SPOKEN])
        sure = sum(line.score for line in lines) / len(lines)
        return Reading(said, sure, tuple(Quote(place, line.text) for line in lines))
    spoken_of = asked.about is About.SPOKEN and thing is not None and same_name(asked.names[0], thing.name)
    if thing is None or not (spoken_of or asked.about is About.VIEW) or not asks_name(asked.text):
        return None
    known = content_stems(" ".join((thing.name, *(value for _, value in thing.attributes))))
    naming = [index for index, item in enumerate(evidence) if mentions(item.text, thing.name)]
    if not naming or not known >= kind_asked(asked.text):
        return None
    index = min(naming, key=lambda each: list(CitationKind).index(evidence[each].kind))  # print, record, page
    parts = (sentence.text for sentence in sentences(evidence[index].text))
    quote = next((text for text in parts if mentions(text, thing.name)), evidence[index].text)
    return Reading(f"{thing.name}.", thing.probability, (Quote(index, quote),), thing.name)
