"""Noun phrases that stand for something one hop away ("the company behind this radio")."""

import re
from dataclasses import dataclass
from functools import lru_cache

from gateway.reasoning.extractive.lexical import fold, words
from gateway.reasoning.extractive.phrasing import mentions_of_relations
from gateway.reasoning.extractive.relation import NAMED, Relation, all_relations
from gateway.reasoning.extractive.targets import LABELS

_HEADS: dict[str, str] = {
    "author": "author",
    "writer": "author",
    "novelist": "author",
    "poet": "author",
    "painter": "painter",
    "artist": "painter",
    "maker": "manufacturer",
    "manufacturer": "manufacturer",
    "company": "manufacturer",
    "firm": "manufacturer",
    "brand": "manufacturer",
    "business": "manufacturer",
    "producer": "manufacturer",
    "breeder": "breeder",
    "designer": "designer",
    "architect": "designer",
    "inventor": "inventor",
    "publisher": "publisher",
    "publishing house": "publisher",
    "composer": "composer",
    "sculptor": "sculptor",
    "photographer": "photographer",
    "illustrator": "illustrator",
    "translator": "translator",
    "narrator": "narrator",
    "director": "director",
    "founder": "founder",
    "owner": "owner",
    "chef": "chef",
    "sponsor": "sponsor",
    "organiser": "organiser",
    "organizer": "organiser",
    "singer": "performer",
    "band": "performer",
    "performer": "performer",
    "headliner": "performer",
    "venue": "venue",
    "museum": "museum",
    "gallery": "museum",
    "creator": "creator",
    "cover artist": "cover artist",
    "retailer": "seller",
    "birthplace": "birthplace",
    "hometown": "birthplace",
    "husband": "spouse",
    "wife": "spouse",
    "spouse": "spouse",
    "headquarters town": "headquarters",
    "teacher": "teacher",
    "parent company": "owner",
    "brewery": "brewer",
    "honouree": "honoree",
    "honoree": "honoree",
    "protagonist": "protagonist",
}
_HEAD = "|".join(sorted(_HEADS, key=len, reverse=True))
_STOP = (
    r"(?=\s+(?:is|are|was|were|did|does|do|has|have|had|born|die|died|study|studied|employs?|makes?|"
    r"made|based|founded|set|started|live|lived|like|liked|work|worked|take|took|marry|married|get|got|"
    r"cost|called|from|before|after|first|come|came|grow|stand|stands|hold|holds|lie|lies|win|won|earn|"
    r"go|also|ever|when|where|use|used|pass|passed|read|spend|spent|open|close|charge|run|in|on|at|of|"
    r"and|or|i)\b|\s*[?,.!;:]|\s*$)"
)
_WHERE = (
    r"(?:\s+(?:here|in front of me|in my hands?|i'?m \w+(?: at)?|i am \w+(?: at)?|i (?:hold|see|have)|"
    r"on (?:the|this|that|my) [\w-]+|in (?:the|this) (?:photo|picture|image)|you see))*"
)
_LABEL = "|".join(sorted(LABELS, key=len, reverse=True))
_TARGET = (
    rf"(?:(?:this|that|these|the|my|"
    rf"one's)\s+(?:[\w-]+\s+){{0,2}}?(?:{_LABEL})\b(?!\s+(?:{_LABEL})\b){_WHERE}|it\b|x\b|what (?:i'm|"
    rf"i am) \w+(?: at)?|(?:this|that|these|the|my)(?:\s+[\w-]+){{0,3}}?{_STOP}){_WHERE}"
)
_OF = re.compile(
    rf"\b(?:the|that)\s+(?:[a-z-]+\s+)?(?P<head>{_HEAD})\s+(?:of|for|behind|on|in|at|from)\s+{_TARGET}"
)
_OWNED = re.compile(
    rf"\b(?:(?:its|his|her|their)|(?:this|that|the|my)(?:\s+[\w-]+){{1,3}}?{_WHERE}['’]s|x['’]s|"
    rf"it['’]s)\s+(?P<head>{_HEAD})\b"
)
_BEARER = re.compile(
    rf"\b(?:the\s+)?(?:person|man|woman|figure|individual)\s+(?:(?:who|that)\s+(?:is|was)\s+)?"
    rf"(?:honou?red|commemorated|remembered|named|mentioned|celebrated|shown|described|on|"
    rf"in)\s*(?:on|by|with|in)?\s+{_TARGET}"
)
_PLACE = re.compile(
    rf"\b(?:the\s+)?(?:place|location|building|hall|house|venue)\s+(?:that is\s+)?(?:named|"
    rf"mentioned|given|shown|printed|listed|announced|advertised)\s+(?:on|in|by)\s+{_TARGET}"
)
_WHO = re.compile(
    rf"\b(?:whoever|(?:the|a)\s+(?:person|people|man|woman|one|company|firm|maker|artist|business|"
    rf"author|writer|painter|brand|individual|someone|somebody|team|museum|gallery|shop|publisher|"
    rf"designer|breeder))"
    rf"(?:\s+(?:who|that|which))?\s+(?P<verb>(?:[a-z]+\s+){{0,2}}?[a-z]+)\s+(?:up\s+|with\s+)?{_TARGET}"
)
_WHERE_CLAUSE = re.compile(
    r"\bthe\s+(?:town|city|place|village|country|house|museum|region)\s+(?:where|in which|that|"
    r"which)\s+(?P<clause>x\s+[^?,]{2,40}?)(?=\s*[?,.]|\s*$|\s+(?:have|has|get|lie)\b)"
)
_BARE = re.compile(
    rf"(?P<lead>^|[\w']+\s+)(?P<det>the|this|that)\s+(?P<head>{_HEAD})\b(?!\s+(?:of|for|who|that|"
    rf"which|name|house)\b)"
)


@dataclass(frozen=True, slots=True)
class Hops:
    """`chain`: the hops, outermost first; `rest`: the folded question with the phrase replaced by `x`."""

    chain: tuple[Relation, ...]
    rest: str


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Relation]:
    named: dict[str, Relation] = {}
    for relation in all_relations():
        if relation.answer in NAMED:
            named.setdefault(relation.name, relation)
    return named


@lru_cache(maxsize=512)
def find_hops(question: str, label: str | None) -> Hops:
    """Takes the hops out of a question, innermost first, until none is left."""
    rest = fold(question)
    chain: list[Relation] = []
    for _ in range(3):
        found = _one(rest, label, first=not chain)
        if found is None:
            break
        relation, rest = found
        chain.insert(0, relation)
    return Hops(tuple(chain), rest)


def _one(text: str, label: str | None, *, first: bool) -> tuple[Relation, str] | None:
    bearer = _BEARER.search(text)
    if bearer and first:
        return _cut(text, bearer, _by_name().get("honoree"))
    place = _PLACE.search(text)
    if place and first:
        return _cut(text, place, _by_name().get("venue"))
    who = _WHO.search(text)
    if who and not _asked(text, who.start(), who.end()):
        head = re.search(rf"\b(?:{_HEAD})\b", text[who.start() : who.start("verb")])
        named = _by_name().get(_HEADS[head.group()]) if head else None
        return _cut(text, who, named or verb_relation(who["verb"], "who"))
    for pattern in (_OWNED, _OF):
        match = pattern.search(text)
        if match and not _asked(text, match.start(), match.end()):
            return _cut(text, match, _by_name().get(_HEADS[match["head"]]))
    clause = _WHERE_CLAUSE.search(text)
    if clause and not first:
        return _cut(text, clause, verb_relation(clause["clause"], "where"))
    bare = _BARE.search(text)
    if bare and first and bare["head"] != label and not _asked(text, bare.start("det"), bare.end()):
        return _cut_at(text, bare.start("det"), bare.end(), _by_name().get(_HEADS[bare["head"]]))
    return None


def _asked(text: str, start: int, end: int) -> bool:
    """Whether the phrase is itself what is asked ("who is the author of this?"), not a step on the way."""
    rest = text[end:].strip(" ?.!")
    if rest == "is" and re.search(r"\b(?:who|what|which)\s+$", text[:start]):
        return True
    if rest and not re.fullmatch(rf"(?:of|for|behind|on|in|at|from)\s+{_TARGET}", rest):
        return False
    return (
        re.search(
            (
                r"\b(?:who|what|which)(?: (?:company|person|man|woman|firm|brand|artist))?"
                r"(?:'s| is| was| are| were)\s+(?:the name of\s+)?$|\b(?:name|"
                r"tell me|identify)\s+$"
            ),
            text[:start],
        )
        is not None
    )


def _cut(text: str, match: re.Match[str], relation: Relation | None) -> tuple[Relation, str] | None:
    return _cut_at(text, match.start(), match.end(), relation)


def _cut_at(text: str, start: int, end: int, relation: Relation | None) -> tuple[Relation, str] | None:
    if relation is None:
        return None
    return relation, f"{text[:start]}x{text[end:]}"


def verb_relation(phrase: str, role: str) -> Relation | None:
    """The relation that a verb gives in a role: ("wrote", "who") is author."""
    found = [
        m
        for m in mentions_of_relations(f"{role} {' '.join(words(phrase))}")
        if m.how == "verb" and m.relation.wh == role
    ]
    return max(found, key=lambda m: m.score).relation if found else None
