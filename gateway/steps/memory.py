"""The sighting that a question's photo adds to a memory, and the sightings that answer a question."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from contracts.answer import CitationKind, LookedAtKind
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Evidence, Query, Sighting
from gateway.steps.conclusion import Outcome
from language.identification import NOISE_BELOW, plausibility
from language.names import mentions, same_name
from language.recollection import PastQuestion, past_question
from language.words import content_stems, visible

PATH = "/v1/memory"
"""The path of a sighting's thumbnail."""
_MOST = 3
"""Sightings that are evidence for one question."""
_TEXT_CHARS, _NAME_CHARS = 300, 200
_NO_QUOTES = str.maketrans("“”", "''")


def sighting_of(query: Query, outcome: Outcome, run: Run, place: str) -> Sighting | None:
    """Return what this question's own photo shows; None if it has neither a name nor text.

    A name that only the question or the print gives is left out.
    """
    lines = (each.text for each in run.looked_at if each.kind is LookedAtKind.TEXT)
    text = " ".join(line for line in lines if plausibility(line, 1.0) >= NOISE_BELOW)
    name = outcome.entity.name if outcome.entity else run.identified or ""
    is_known = outcome.entity is None or outcome.entity.title
    if not is_known and (mentions(query.question, name) or same_name(name, text)):
        name = ""
    if not (name or text):
        return None
    facts = _line(name)[:_NAME_CHARS], _line(text)[:_TEXT_CHARS], _line(place)
    return Sighting("", datetime.fromtimestamp(0, UTC), *facts, b"")


async def recollect(query: Query, run: Run) -> tuple[Evidence, ...] | None:
    """Return the sightings that the question asks about, the best first.

    None without consent, or if the question does not ask about the past.
    """
    recall = query.recall
    shows_photo = query.photo is not None and query.photo_is_new
    past = past_question(query.question, recall.now, shows_photo=shows_photo) if recall else None
    if recall is None or past is None:
        return None
    evidence: tuple[Evidence, ...] = ()
    async with run.optional(Stage.MEMORY), run.stage(Stage.MEMORY):
        sightings = await recall.sightings()
        matches = matching(past, sightings)
        evidence = tuple(_evidence(each, score, past, recall.now) for each, score in matches)
    run.explain.add_results(Stage.MEMORY, evidence)
    return evidence


def matching(past: PastQuestion, sightings: Sequence[Sighting]) -> list[tuple[Sighting, float]]:
    """Return the sightings that the question may mean, each with its share of the question's words.

    It needs more than half of them. "What …" with a time may ask for anything that was seen then.
    """
    newest = list(_once_a_place(each for each in reversed(sightings) if _is_meant(past, each)))
    if not past.stems:
        return [(each, 1.0) for each in newest[:_MOST]]
    stems = {each.id: content_stems(f"{each.name} {each.text} {each.place}") for each in newest}
    shares = {each.id: len(past.stems & stems[each.id]) / len(past.stems) for each in newest}
    best = max(shares.values(), default=0.0)
    if best > 0.5:
        return [(each, best) for each in newest if shares[each.id] == best][:_MOST]
    anything = past.since is not None and not past.names_it
    return [(each, 0.5) for each in newest[:_MOST]] if anything else []


def _once_a_place(sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    """Yield the first sighting of each thing or text at each place."""
    places = set[tuple[str, str]]()
    for seen in sightings:
        if (place := (seen.name or seen.text, seen.place)) not in places:
            places.add(place)
            yield seen


def _is_meant(past: PastQuestion, seen: Sighting) -> bool:
    in_time = past.since is None or past.until is None or past.since <= seen.at < past.until
    return in_time and (bool(seen.text) or not past.of_print)


def _evidence(seen: Sighting, score: float, past: PastQuestion, now: datetime) -> Evidence:
    """Return a sighting in words, with its print if the question needs it or nothing was recognised.

    Print is quoted, so that a reader can tell it from our words.
    """
    place = f", at {seen.place}," if seen.place else ""
    by_name = past.stems <= content_stems(f"{seen.name} {seen.place}") and not past.of_print
    needs_text = not same_name(seen.name, seen.text) and not (seen.name and by_name)
    read = seen.text.translate(_NO_QUOTES) if needs_text else ""
    what = f"{seen.name}. It read" if seen.name and read else seen.name or "something that read"
    text = f"{_when(seen.at, now)}{place} you saw {what}{f': “{read}”' if read else ''}."
    title = seen.name or "What you saw"
    return Evidence(
        text, title, f"{PATH}/{seen.id}", CitationKind.MEMORY, score, last_modified=seen.at.astimezone(UTC)
    )


def _when(at: datetime, now: datetime) -> str:
    days = (now.date() - at.date()).days
    day = {0: "Today", 1: "Yesterday"}.get(days, f"On {at:%A}" if days < 7 else f"On {at.day} {at:%B %Y}")
    return f"{day} at {at:%H:%M}"


def _line(text: str) -> str:
    return " ".join(visible(text).split())
