"""What may be read for a question, and what the reader service finds in it."""

from collections.abc import Iterator
from dataclasses import dataclass

from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind
from gateway.reasoning.lite.photo import AGREES, print_passage
from gateway.reasoning.lite.question import About, ParsedQuestion, is_about
from gateway.reasoning.port import Read
from gateway.state import Entity, Evidence, Found, PhotoText, Query, Quote, Reply, ToRead
from language.names import agreement, coverage

_NAMES_IT = 0.5
"""Share of a name's letters from which a passage speaks of the thing."""


@dataclass(frozen=True, slots=True)
class Passages:
    """Evidence and who reads it. `printed`: the photo's print without noise."""

    read: Read
    query: Query
    evidence: tuple[Evidence, ...]
    printed: PhotoText
    entity: Entity | None
    deadline: Deadline

    async def answer(self, question: ParsedQuestion) -> Reply | None:
        """Return the likeliest answer about any thing that is meant; None if nothing is found."""
        thing = self.entity if self.entity is not None and is_about(question, self.entity) else None
        passages = dict(self._passages(question, thing))
        if not passages:
            return None
        found: list[Found] = []
        for subject in self._subjects(question, thing):
            history = self.query.history if question.about is About.SPOKEN else ()
            found += await self.read(
                question.text, tuple(passages.values()), subject, history, 1, self.deadline
            )
        best = max(found, key=lambda each: each.probability, default=None)
        if best is None or not best.spoken.strip():
            return None
        index, passage = list(passages.items())[best.passage]
        # Of a photo's print, lines of noise were left out: each line is quoted for itself.
        lines = best.sentence.split("\n") if passage.kind is CitationKind.PHOTO else [best.sentence]
        quotes = tuple(Quote(index, line) for line in lines if line.strip())
        return Reply(best.spoken, best.probability, quotes, quoted=True)

    def _subjects(self, question: ParsedQuestion, thing: Entity | None) -> tuple[str | None, ...]:
        if question.about is About.SPOKEN:
            return question.names or (None,)
        return (thing.name if thing is not None and question.about is About.VIEW else None,)

    def _passages(self, question: ParsedQuestion, thing: Entity | None) -> Iterator[tuple[int, ToRead]]:
        """Yield the passages about the thing, each with its place in the evidence.

        Records of other things are left out, and passages without a name that the question gives. If the
        question points at a thing that was not identified, only pages whose title is printed on it stay.
        """
        unknown = question.about is About.VIEW and thing is None and question.points
        for index, item in enumerate(self.evidence):
            if item.kind is CitationKind.PHOTO:
                if self.printed.lines:
                    yield index, print_passage(self.printed)
                continue
            printed_on_it = (agreement(item.title, self.printed.plain) or 0.0) >= AGREES
            of_it = thing is not None and item.entity in (None, thing.name)
            meant = of_it if item.kind is CitationKind.IMAGE else printed_on_it or not unknown
            if meant and item.text.strip() and self._speaks_of(item, question):
                yield index, ToRead(item.text, item.entity or item.title, item.kind)

    def _speaks_of(self, item: Evidence, question: ParsedQuestion) -> bool:
        """Return whether the passage has one of the names that the question gives or stands for."""
        text = f"{item.title} {item.text}"
        called = question.names if question.about in (About.NAMED, About.SPOKEN) else ()
        return not called or any(coverage(name, text) >= _NAMES_IT for name in called)
