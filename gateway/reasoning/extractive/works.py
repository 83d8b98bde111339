"""What else the maker of a thing has made, gathered from lists and from pages about other works."""

import re
from collections.abc import Iterator, Sequence

from gateway.reasoning.extractive.composing import finish, is_order, listing
from gateway.reasoning.extractive.facts import page_is_about
from gateway.reasoning.extractive.lexical import mentions, sentences, unique
from gateway.reasoning.extractive.lookup import Finding, quotes_of
from gateway.reasoning.extractive.naming import is_part_of, name_spans
from gateway.reasoning.extractive.question import Analysis
from gateway.reasoning.extractive.relation import Relation, all_relations
from gateway.reasoning.extractive.resolution import Path, follow, kin_of, look_up
from gateway.reasoning.extractive.subjects import page_subject, subjects
from gateway.state import Ask, Evidence, Findings, Quote

_LIST = re.compile(
    r"\b(?:books?|novels?|works?|paintings?|pictures|titles|games?|varieties|albums?|films?|songs|"
    r"poems|plays|products?|designs?|models?|buildings|sculptures|creations|stories)\b"
    r"[^:.;]{0,60}?(?::|\binclud(?:e|es|ing)\b|\bsuch as\b|\bare\b|\bis\b|\bcalled\b|"
    r"\bamong them\b)\s*(?P<items>[^.;]+)",
    re.I,
)
_ALSO = re.compile(
    (
        r"\b(?:also|previously|later|earlier|besides)\b[^.;:]{0,20}?\b(?:wrote|painted|made|designed|"
        r"created|composed|published|directed|bred|produced)\b\s*(?P<items>[^.;]+)"
    ),
    re.I,
)
_MAKERS = (
    "author",
    "painter",
    "designer",
    "composer",
    "sculptor",
    "director",
    "breeder",
    "creator",
    "manufacturer",
    "performer",
)


def other_works(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """The other works of the maker of the thing (or of the named maker), each backed by a quote."""
    candidates = subjects(ask, analysis, findings)
    own = [name for name, _ in candidates]
    for subject, belief in candidates:
        for path in _makers(subject, analysis, findings):
            found = list(_gather(path.subject, own, findings.evidence))
            names = unique(name for name, _ in found)
            if not names:
                continue
            quotes = tuple(dict.fromkeys([*quotes_of(path.steps), *(quote for _, quote in found)]))
            count = f"{len(names)}: " if re.match(r"how many\b", analysis.text, re.I) else ""
            text = (
                f"{path.subject} also made {listing(names)}"
                if not count
                else f"{count}{path.subject} made {listing(names)}"
            )
            return Finding(finish(text), 0.8 * path.confidence * belief, quotes, listing(names))
    return None


def _makers(subject: str, analysis: Analysis, findings: Findings) -> Iterator[Path]:
    if analysis.chain:
        path = follow(subject, analysis.chain, findings.evidence, findings.photo_text)
        if path is not None:
            yield path
        return
    named = {r.name: r for r in reversed(all_relations())}
    asked: list[Relation] = [r for r in analysis.relations if r.name in _MAKERS]
    for relation in asked or [named[n] for n in _MAKERS]:
        step = look_up((relation,), subject, findings.evidence)
        if step is not None and step.confidence >= 0.5:
            yield Path(step.fact.value, step.confidence, (step.fact,))
    yield Path(subject, 0.8)


def _gather(maker: str, own: Sequence[str], evidence: Sequence[Evidence]) -> Iterator[tuple[str, Quote]]:
    """(work, quote) pairs: members of lists under the maker's name, and other pages that name the maker."""
    for index, item in enumerate(evidence):
        about_maker = page_is_about(item, maker)
        for sentence in sentences(item.text):
            if is_order(sentence.text):
                continue
            if about_maker or mentions(sentence.text, maker) or _surname(maker, sentence.text):
                for name in _members(sentence.text, maker):
                    if not any(is_part_of(name, mine) for mine in own):
                        yield name, Quote(index, sentence.text)
    yield from _by_pages(maker, own, evidence)


def _surname(maker: str, text: str) -> bool:
    parts = maker.split()
    return len(parts) > 1 and re.search(rf"\b{re.escape(parts[-1])}\b", text) is not None


def _members(sentence: str, maker: str) -> Iterator[str]:
    for pattern in (_LIST, _ALSO):
        match = pattern.search(sentence)
        if match is None:
            continue
        for piece in re.split(r",\s+|\s+and\s+(?=[A-ZÀ-Þ\"“])|\s+as well as\s+", match["items"]):
            name = piece.strip(" ,.\"“”'")
            name = re.sub(r"^and\s+", "", name)
            if re.match(r"[A-ZÀ-Þ0-9]", name) and not is_part_of(name, maker) and len(name.split()) <= 9:
                yield name
        return


def _by_pages(maker: str, own: Sequence[str], evidence: Sequence[Evidence]) -> Iterator[tuple[str, Quote]]:
    named = {r.name: r for r in reversed(all_relations())}
    relations = kin_of((named["author"], named["designer"], named["breeder"]))
    surname = maker.split()[-1]
    pages: dict[str, list[int]] = {}
    for index, item in enumerate(evidence):
        if item.title and surname in item.text:
            pages.setdefault(item.entity or page_subject(item.title), []).append(index)
    for title, indices in pages.items():
        if any(is_part_of(title, mine) for mine in (*own, maker)) or not name_spans(title):
            continue
        step = look_up(relations, title, [evidence[i] for i in indices])
        if step is not None and step.confidence >= 0.6 and is_part_of(step.fact.value, maker):
            yield title, Quote(indices[step.fact.index], step.fact.quote)
