"""From facts to one value (agreement, contradiction, recency), and over hops to the asked subject."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.reasoning.extractive.facts import PHOTO_INDEX, Fact, find_facts
from gateway.reasoning.extractive.lexical import content_stems, squeeze
from gateway.reasoning.extractive.naming import is_part_of
from gateway.reasoning.extractive.recognition import read_hop
from gateway.reasoning.extractive.relation import NAMED, Answer, Relation, all_relations
from gateway.state import Evidence, PhotoText

_KIN: tuple[frozenset[str], ...] = (
    frozenset({"manufacturer", "brand", "producer"}),
    frozenset({"author", "painter", "creator", "composer", "sculptor", "artist"}),
    frozenset({"manufacturer", "painter", "sculptor", "creator"}),
    frozenset({"year made", "year painted", "construction date", "release date", "publication date"}),
    frozenset({"designer", "inventor", "creator"}),
    frozenset({"venue", "location"}),
    frozenset({"founding date", "opening date", "construction date", "unveiling date"}),
    frozenset({"publication date", "release date"}),
    frozenset({"year painted", "date created", "publication date", "release date"}),
    frozenset({"location", "city", "headquarters"}),
    frozenset({"place of production", "factory"}),
    frozenset({"country of origin", "place of production"}),
    frozenset({"owner", "manager"}),
    frozenset({"donor", "unveiled by"}),
)
"""Relations that stand in for one another when the asked one is not stated."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The value settled on: `support` are the facts that agree, `conflict` whether others disagree."""

    fact: Fact
    confidence: float
    support: tuple[Fact, ...]
    conflict: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """The subject that the asked relation is about, reached over `steps`; `confidence` of the way there."""

    subject: str
    confidence: float = 1.0
    steps: tuple[Fact, ...] = field(default=())


def kin_of(relations: Sequence[Relation]) -> tuple[Relation, ...]:
    """The relations and those that may stand in for the first of them."""
    if not relations:
        return ()
    names = {n for group in _KIN if relations[0].name in group for n in group}
    known = {r.name for r in relations}
    first = relations[0]
    extra = [r for r in all_relations() if r.name in names - known and _compatible(r, first)]
    unique = {r.name: r for r in extra}
    return (*relations, *unique.values())


def _compatible(a: Relation, b: Relation) -> bool:
    return a.answer is b.answer or (a.answer in NAMED and b.answer in NAMED)


def settle(facts: Sequence[Fact]) -> Resolution | None:
    """The best-supported value: agreement of several pages counts, and of two values the newer page's."""
    groups: list[list[Fact]] = []
    for fact in facts:
        for group in groups:
            if same_value(group[0], fact):
                group.append(fact)
                break
        else:
            groups.append([fact])
    if not groups:
        return None
    strongest = max(f.strength for f in facts)
    serious = [g for g in groups if g[0].strength >= strongest - 0.25]
    newest = max((f.modified for g in serious for f in g if f.modified), default=None)

    def weight(group: list[Fact]) -> float:
        sources = {f.url or f.quote for f in group}
        fresh = any(f.modified is None or f.modified == newest for f in group)
        return max(f.strength for f in group) + 0.08 * min(3, len(sources) - 1) + (0.12 if fresh else 0.0)

    ranked = sorted(serious, key=weight, reverse=True)
    best = ranked[0]
    conflict = len(ranked) > 1
    confidence = min(0.98, max(f.strength for f in best) + 0.03 * (len({f.url for f in best}) - 1))
    if conflict:
        margin = weight(best) - weight(ranked[1])
        loose = best[0].relation.answer is Answer.PHRASE
        confidence *= 0.9 if margin >= 0.1 or loose else 0.72 if margin >= 0.03 else 0.55
    return Resolution(max(best, key=lambda f: f.strength), confidence, tuple(best), conflict)


def same_value(a: Fact, b: Fact) -> bool:
    """Whether two facts give the same value: numbers by size, names by overlap, phrases by shared words."""
    x, y = a.typed, b.typed
    if x is not None and y is not None and x.number is not None and y.number is not None:
        if x.kind != y.kind:
            return x.number == y.number
        same = abs((x.base or 0) - (y.base or 0)) <= 0.011 * max(abs(x.base or 0), abs(y.base or 0))
        return same and (not x.month or not y.month or (x.month, x.day or y.day) == (y.month, y.day or x.day))
    if a.relation.answer in NAMED:
        return is_part_of(a.value, b.value)
    if squeeze(a.value) == squeeze(b.value):
        return True
    left, right = content_stems(a.value), content_stems(b.value)
    return bool(left & right) and len(left & right) >= 0.5 * min(len(left), len(right))


def look_up(relations: Sequence[Relation], subject: str, evidence: Sequence[Evidence]) -> Resolution | None:
    """The settled value of the asked relation; a kindred relation only if the asked one is nowhere."""
    direct = find_facts(relations, subject, evidence)
    settled = settle(direct)
    if settled is not None and settled.confidence >= 0.45:
        return settled
    kindred = find_facts(kin_of(relations), subject, evidence)
    return settle(kindred) or settled


def follow(
    subject: str, chain: Sequence[Relation], evidence: Sequence[Evidence], photo_text: PhotoText | None = None
) -> Path | None:
    """Walks the inner hops, innermost first; None when one of them cannot be found.

    The first hop may stand on the thing itself (an author on a cover): then `photo_text` gives it.
    """
    path = Path(subject)
    for relation in reversed(chain):
        step = look_up(kin_of((relation,)), path.subject, evidence)
        if not path.steps and photo_text is not None and (step is None or step.confidence < 0.75):
            step = _printed(relation, subject, photo_text) or step
        if step is None or step.confidence < 0.4 or relation.answer not in NAMED:
            return None
        path = Path(
            name_of(step.fact), path.confidence * min(1.0, step.confidence + 0.05), (*path.steps, step.fact)
        )
    return path


def _printed(relation: Relation, subject: str, photo_text: PhotoText) -> Resolution | None:
    read = read_hop(relation.name, photo_text)
    if read is None or not read.lines:
        return None
    fact = Fact(read.value, None, PHOTO_INDEX, read.lines[0].text, read.sure, relation, subject, "", None)
    return Resolution(fact, read.sure, (fact,))


def name_of(fact: Fact) -> str:
    """The bare name in a value: a list's first member, without remarks in brackets."""
    value = fact.value.split(" (")[0]
    if fact.relation.answer in {Answer.PERSON, Answer.NAME}:
        value = value.split(";")[0].split("\n")[0]
    return value.strip(" .")
