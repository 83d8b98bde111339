"""The lite reasoner: works out which thing is meant and what to search, and lets the reader service read.

Without a language model. A question that compares two things is refused, with what was found.
"""

from collections.abc import Iterator, Sequence

import anyio

from chassis.errors import UNAVAILABLE
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
from gateway.reasoning.pieces import orders_answer
from gateway.reasoning.port import Read, ReadPhoto, note_missing
from gateway.reasoning.print import AGREES, best_candidate, printed_name, readable
from gateway.state import (
    Context,
    Draft,
    Entity,
    Evidence,
    GenerationBudget,
    PhotoText,
    Query,
    Quote,
    Reading,
    Reply,
    Tool,
    ToRead,
    photo_evidence,
    reason_of,
)
from language.identification import is_english
from language.names import agreement, coverage, mentions, same_name
from language.sentences import sentences

WAITING_SHARE = 0.6
"""Of the time that is left, at most for the print: without it there is still the question."""
_MOST_SPOKEN = 25
"""Words of a photo's print that are read out."""
_READER = "reader"
_NAMES_IT = 0.5
"""Share of a name's letters from which a passage speaks of the thing."""


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
                reply = await self._find_answer(question, evidence, printed, name, None, deadline)
            except UNAVAILABLE:
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
            reply = await self._find_answer(question, evidence, printed, thing, thing, deadline)
        except UNAVAILABLE as error:
            note_missing(_READER)
            return Reply(None, 0.0, reason=reason_of(error.kind))
        return reply or Reply(None, 0.0, reason=Reason.LOW_CONFIDENCE)

    async def _find_answer(
        self,
        question: ParsedQuestion,
        evidence: Sequence[Evidence],
        printed: PhotoText,
        name: Entity | None,
        entity: Entity | None,
        deadline: Deadline,
    ) -> Reply | None:
        """Return the print or the name if the question asks for no more, else the reader's likeliest answer.

        `printed`: the photo's print without noise. `name`: the thing to name; `entity`: the thing to read
        about, if it is identified. No single passage answers a comparison.
        """
        direct = _answer_directly(question, evidence, printed, name)
        thing = entity if entity is not None and is_about(question, entity) else None
        about = _passages(question, evidence, printed, thing)
        passages = dict(sorted(about, key=lambda each: evidence[each[0]].place))  # as its contract demands
        if direct or question.compares or not passages:
            return direct
        subjects: tuple[str | None, ...] = (None,)
        if question.about is About.SPOKEN and question.names:
            subjects = question.names
        elif question.about is About.VIEW and thing is not None:
            subjects = (thing.name,)
        answers: list[Reading] = []
        for subject in subjects:
            answers += await self._read(question.text, tuple(passages.values()), subject, deadline)
        best = max(answers, key=lambda each: each.probability, default=None)
        if best is None or not best.spoken.strip():
            return None
        index, passage = list(passages.items())[best.passage]
        # Noise is left out of a photo's print, so each line is quoted separately.
        lines = best.sentence.split("\n") if passage.kind is CitationKind.PHOTO else [best.sentence]
        quotes = tuple(Quote(index, line) for line in lines if line.strip())
        return Reply(best.spoken, best.probability, quotes, quoted=True)


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


def _passages(
    question: ParsedQuestion, evidence: Sequence[Evidence], printed: PhotoText, thing: Entity | None
) -> Iterator[tuple[int, ToRead]]:
    """Yield the passages about the thing, each with its place in the evidence.

    Records of other things are left out, and passages without a name that the question gives or stands for.
    If it points at a thing, pages whose title is printed on it stay; others only if it is identified.
    """
    in_view = question.about is About.VIEW and question.points
    unknown = in_view and thing is None
    names = question.names if question.about in (About.NAMED, About.SPOKEN) else ()
    if in_view and thing is not None:
        names = (thing.name,)
    for index, item in enumerate(evidence):
        if item.kind is CitationKind.PHOTO:
            if printed.lines:  # a line that addresses the answerer says nothing of the thing
                signs = PhotoText(tuple(line for line in printed.lines if not orders_answer(line.text)))
                boxes = tuple(line.box for line in signs.lines)
                yield index, ToRead(signs.plain, "", CitationKind.PHOTO, boxes)
            continue
        printed_on_it = (agreement(item.title, printed.plain) or 0.0) >= AGREES
        of_it = thing is not None and item.entity in (None, thing.name)
        is_about_it = of_it if item.kind is CitationKind.IMAGE else printed_on_it or not unknown
        text = f"{item.title} {item.passage or item.text}"
        is_named = any(coverage(name, text) >= _NAMES_IT for name in names)
        if names and not is_named and not (in_view and printed_on_it):
            continue
        if is_about_it and item.text.strip():
            yield index, ToRead(item.text, item.entity or item.title, item.kind)
