"""The lite reasoner: works out which thing is meant and what to search, and lets the reader service read.

Without a language model. A question that compares two things is refused, with what was found.
"""

from collections.abc import Sequence

import anyio

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason
from contracts.domain_router import Domain
from gateway.reasoning.lite.question import (
    About,
    ParsedQuestion,
    is_about,
    needs_photo,
    parse_question,
    search_queries,
)
from gateway.reasoning.lite.reading import best_candidate, printed_name, read_evidence, readable
from gateway.reasoning.port import Read, ReadPhoto, note_missing
from gateway.state import (
    Context,
    Draft,
    Entity,
    Evidence,
    GenerationBudget,
    PhotoText,
    Query,
    Quote,
    Reply,
    Tool,
    photo_evidence,
    reason_of,
)
from language.identification import is_english
from language.names import mentions, same_name
from language.sentences import sentences

WAITING_SHARE = 0.6
"""Of the time that is left, at most for the print: without it there is still the question."""
_MOST_SPOKEN = 25
"""Words of a photo's print that are read out."""
_READER = "reader"
_UNAVAILABLE = (DeadlineExceeded, Overloaded, DependencyUnavailable)


class LiteReasoner:
    """A `Reasoner` without a model; it keeps nothing between calls. `read`: the reader service."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def drafts(self, query: Query) -> bool:
        """See the port: there is a draft for every question, from its words and the photo's print."""
        return True

    async def rewrite(self, query: Query, deadline: Deadline) -> str:
        return parse_question(query).text

    async def draft(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """See the port: what to look up, and what the photo's own print answers."""
        question, printed, reply = parse_question(query), PhotoText(), None
        has_name = question.about in (About.NAMED, About.SPOKEN)
        tools = {Tool.TEXT_SEARCH}
        if query.photo is not None and not has_name:
            tools.add(Tool.IMAGE_SEARCH)
        if query.photo is not None and is_english(query.question):
            with anyio.move_on_after(deadline.remaining_s() * WAITING_SHARE):
                printed = readable(await read_photo())
        name, evidence = printed_name(printed), photo_evidence(printed)
        nameless = name is None and question.asks_name(None)  # small print beside a thing is not its name
        meant = question.about is not About.NAMED or mentions(printed.plain, question.names[0])
        if evidence and meant and not nameless:
            try:
                reply = _answer_directly(question, evidence, printed, name) or await read_evidence(
                    self._read, question, evidence, printed, None, deadline
                )
            except _UNAVAILABLE:
                note_missing(_READER)  # the searches may find more, and the answer is read once more
        title = name.name if name is not None and question.about is About.VIEW else None
        return Draft(
            object_label=None,
            entity=next(iter(question.names), None) if has_name else None,
            reasoning=f"The question is about {question.about.value}.",
            answer=reply.answer if reply else None,
            confidence=reply.confidence if reply else 0.0,
            self_contained=reply is not None,
            tools=frozenset(tools),
            sub_queries=search_queries(question, title),
            quotes=tuple(quote.text for quote in reply.quotes) if reply else (),
        )

    async def select_entity(
        self,
        query: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """Return the thing named or spoken of; else what picture and print agree on."""
        question = parse_question(query)
        if question.about in (About.NAMED, About.SPOKEN) and question.names:
            things = (*candidates, *(turn.entity for turn in reversed(query.history) if turn.entity))
            name = question.names[0]
            return next((each for each in things if same_name(each.name, name)), Entity(name, 1.0))
        printed = readable(photo_text)
        thing = best_candidate(candidates, printed) or printed_name(printed)
        return thing if thing is not None and is_about(question, thing) else None

    async def answer(
        self, query: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """See the port: what the reader finds in the evidence, with the sentence that says so."""
        if context.evidence and context.evidence[0].kind is CitationKind.MEMORY:
            return _what_was_seen(context.evidence)
        if not is_english(query.question):
            return Reply(None, 0.0, reason=Reason.LANGUAGE)
        if needs_photo(query):
            return Reply(None, 0.0, reason=Reason.NEEDS_PHOTO)
        question, printed = parse_question(query), readable(context.photo_text)
        evidence, thing = context.evidence, context.entity
        if thing is None and question.asks_name(None):
            return Reply(None, 0.0, reason=Reason.LOW_CONFIDENCE)
        try:
            reply = _answer_directly(question, evidence, printed, thing) or await read_evidence(
                self._read, question, evidence, printed, thing, deadline
            )
        except _UNAVAILABLE as error:
            note_missing(_READER)
            return Reply(None, 0.0, reason=reason_of(error.kind))
        return reply or Reply(None, 0.0, reason=Reason.LOW_CONFIDENCE)


def _answer_directly(
    question: ParsedQuestion, evidence: Sequence[Evidence], printed: PhotoText, thing: Entity | None
) -> Reply | None:
    """Return what needs no reading: the print itself, or the thing's name, where nothing else is asked."""
    place = next((index for index, item in enumerate(evidence) if item.kind is CitationKind.PHOTO), None)
    if question.asks_print and printed.lines and place is not None:
        words = " ".join(printed.plain.split()[:_MOST_SPOKEN])
        sure = sum(line.score for line in printed.lines) / len(printed.lines)
        quotes = tuple(Quote(place, line.text) for line in printed.lines)
        return Reply(words, sure, quotes, quoted=True)
    if thing is None or not question.asks_name(thing):
        return None
    naming = [index for index, item in enumerate(evidence) if mentions(item.text, thing.name)]
    if not naming:
        return None
    index = min(naming, key=lambda each: list(CitationKind).index(evidence[each].kind))  # print, record, page
    parts = (sentence.text for sentence in sentences(evidence[index].text))
    quote = next((text for text in parts if mentions(text, thing.name)), evidence[index].text)
    return Reply(f"{thing.name}.", thing.probability, (Quote(index, quote),), quoted=True)


def _what_was_seen(evidence: Sequence[Evidence]) -> Reply:
    """Return the remembered sightings, each of which says what, when and where."""
    quotes = tuple(Quote(place, item.text) for place, item in enumerate(evidence))
    return Reply(" ".join(item.text for item in evidence), None, quotes, quoted=True)
