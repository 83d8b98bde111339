"""One question's passages, and what the reader finds in them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind
from gateway.reasoning.pocket.asking import About, Asked, is_about
from gateway.reasoning.pocket.photo import AGREES, print_passage
from gateway.reasoning.port import Read
from gateway.state import Entity, Evidence, PhotoText, Query, Quote, ToRead
from language.names import agreement, mentions, names, same_name
from language.reference import Description, pointer
from language.words import content_stems

LEADS_ON = 0.25
"""Probability from which a description's value is read on with; it is a factor of what comes of that."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer: what to say, how sure the reader is, and the words that it rests on.

    `value`: the words that answer; `sentence` holds them. `remark`: see `Reply`.
    """

    spoken: str
    confidence: float
    quotes: tuple[Quote, ...]
    value: str = ""
    sentence: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Passages:
    """What may be read for a question, and who reads it. `printed`: the photo's print without noise."""

    read: Read
    query: Query
    evidence: tuple[Evidence, ...]
    printed: PhotoText
    entity: Entity | None
    deadline: Deadline

    def subjects(self, asked: Asked) -> tuple[str | None, ...]:
        """What "this" or "she" in the question may stand for, likeliest first; never empty."""
        if asked.about in (About.SPOKEN, About.LED_TO):
            return asked.names
        thing = self._thing(asked) if asked.about is not About.NAMED else None
        return (thing.name if thing else None,)

    async def answer(self, asked: Asked) -> Reading | None:
        """The likeliest answer, whatever the question may be about."""
        return next(iter(await self.answers(asked, 1)), None)

    async def answers(self, asked: Asked, most: int) -> list[Reading]:
        """So many answers about each subject at most, the likeliest first."""
        about = self.subjects(asked)
        found = [each for subject in about for each in await self.find(asked.text, subject, asked, most)]
        return sorted(found, key=lambda each: -each.confidence)

    async def find(self, question: str, subject: str | None, asked: Asked, most: int = 1) -> list[Reading]:
        """The likeliest answers about a subject; none from a passage that does not speak of `asked.own`."""
        passages = dict(self._passages(asked))
        if not passages:
            return []
        thing = self._thing(asked)
        history = self.query.history if asked.about is About.SPOKEN else ()
        found = await self.read(question, tuple(passages.values()), subject, history, most, self.deadline)
        readings = []
        for each in found:
            index, passage = list(passages.items())[each.passage]
            text = f"{passage.title} {passage.text}"
            about = thing is not None and mentions(text, thing.name)
            if not each.spoken.strip() or not (
                about or 2 * len(asked.own & content_stems(text)) >= len(asked.own)
            ):
                continue
            # Of a photo's print, lines of noise were left out: each line is quoted for itself.
            lines = each.sentence.split("\n") if passage.kind is CitationKind.PHOTO else [each.sentence]
            quotes = tuple(Quote(index, line) for line in lines if line.strip())
            readings.append(Reading(each.spoken, each.probability, quotes, each.span, each.sentence))
        return readings

    async def resolve(self, described: Description, asked: Asked) -> Reading | None:
        """The thing that a description stands for, if that is a name; not the described thing's own."""
        found: list[Reading] = []
        for subject in self.subjects(asked):
            for question in described.asks if subject or not described.bare else ():
                for reading in await self.find(question, subject, asked):
                    name = next((each.text for each in names(reading.value)), "")
                    if name and reading.confidence >= LEADS_ON and not same_name(name, subject or ""):
                        found.append(replace(reading, value=name))
        return max(found, key=lambda each: each.confidence, default=None)

    def _thing(self, asked: Asked) -> Entity | None:
        """The thing that was recognised, if the question is about it."""
        return self.entity if self.entity is not None and is_about(asked, self.entity) else None

    def _passages(self, asked: Asked) -> Iterator[tuple[int, ToRead]]:
        """By their places in the evidence: all but what is known of other things than the one asked about.

        What is printed on a thing tells of it, not of what a description in the question leads to.
        Where the question points at a thing in view that nobody recognised, only pages whose title is printed
        on it: the others may be about any thing of its kind.
        """
        thing = self._thing(asked)
        unknown = asked.about is About.VIEW and thing is None and pointer(asked.text) is not None
        for index, item in enumerate(self.evidence):
            of_it = thing is not None and item.entity in (None, thing.name)
            if item.kind is CitationKind.PHOTO:
                if self.printed.lines and asked.about is not About.LED_TO:
                    yield index, print_passage(self.printed)
            elif unknown and (agreement(item.title, self.printed.plain) or 0.0) < AGREES:
                continue
            elif item.text.strip() and (item.kind is CitationKind.PAGE or of_it):
                yield index, ToRead(item.text, item.entity or item.title, item.kind)
