"""Finds which relations a question speaks of, and where in the question it does."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gateway.reasoning.extractive.lexical import STOPWORDS, fold, stem, words
from gateway.reasoning.extractive.relation import NAMED, Answer, Relation, all_relations

_WEAK_NOUNS = frozenset(
    [
        "long",
        "tall",
        "wide",
        "deep",
        "thick",
        "open",
        "make",
        "home",
        "press",
        "found",
        "set",
        "act",
        "live",
        "run",
        "held",
        "date",
        "dates",
        "when",
        "where",
        "from",
        "company",
        "country",
        "city",
        "town",
        "place",
        "location",
        "size",
        "time",
        "name",
        "parts",
        "page",
        "size",
        "number",
        "page",
        "copies",
        "line",
        "range",
        "label",
        "reference",
        "school",
        "movement",
        "style",
        "period",
        "version",
        "land",
        "staff",
        "trade",
        "fame",
        "job",
        "stars",
        "tickets",
        "ticket",
        "contents",
        "content",
        "format",
        "display",
        "screen",
        "strength",
        "power",
        "output",
        "age",
        "source",
        "region",
        "value",
        "rate",
        "stage",
        "hall",
        "street",
        "quantity",
        "partner",
        "head",
        "doors",
        "serves",
    ]
)
_WEAK_VERBS = frozenset(
    [
        "set",
        "run",
        "runs",
        "from",
        "act",
        "acts",
        "found",
        "start",
        "starts",
        "began",
        "live",
        "lives",
        "own",
        "start",
        "living",
        "on",
    ]
)
_DEICTIC = frozenset({"this", "that", "these", "those"})


@dataclass(frozen=True, slots=True)
class Mention:
    """A relation said in words `start:end` of the question; `how` is noun, verb or ask."""

    relation: Relation
    score: float
    start: int
    end: int
    how: str


@lru_cache(maxsize=1)
def _tables() -> tuple[
    dict[str, list[Relation]], dict[str, list[Relation]], list[tuple[re.Pattern[str], Relation]]
]:
    nouns: dict[str, list[Relation]] = {}
    verbs: dict[str, list[Relation]] = {}
    asks: list[tuple[re.Pattern[str], Relation]] = []
    for relation in all_relations():
        for noun in dict.fromkeys(_key(n) for n in relation.nouns):
            nouns.setdefault(noun, []).append(relation)
        for verb in relation.verbs:
            verbs.setdefault(" ".join(words(verb)), []).append(relation)
        asks.extend((re.compile(pattern), relation) for pattern in relation.asks)
    return nouns, verbs, asks


@lru_cache(maxsize=8192)
def _key(phrase: str) -> str:
    return " ".join(stem(w) for w in words(phrase))


def question_word(question: str) -> str:
    """who, whose, when, where, how long/many/much/…, which X, what X, why, or `` for a yes/no question."""
    text = fold(question)
    match = re.search(
        r"\b(who|whom|whose|when|where|why|how (?:long ago|old|many|much|long|far|tall|high|big|"
        r"large|heavy|wide|deep|fast|late|hot|strong)"
        r"|(?:what|which) (?:year|date|day|month|time|city|town|country|place|museum|gallery|"
        r"village|region|century|decade)"
        r"|since when|how|which|what)\b",
        text,
    )
    return match.group(1) if match else ""


def asks_for(question: str) -> str:
    """The role of the question word: who, when, where, or the word itself."""
    word = question_word(question)
    if re.search(r"year|date|\bday|month|century|decade|when|long ago", word) or re.search(
        r"\bwhat(?:'s| is| was) (?:the|its) (?:exact )?(?:year|date|day)\b", fold(question)
    ):
        return "when"
    if re.search(
        r"\bthe name of (?:x|the (?:person|man|woman|company|firm|author|artist|one))\b", fold(question)
    ):
        return "who"
    if re.search(r"city|town|country|place|museum|gallery|village|region|where", word):
        return "where"
    if word.startswith(("who", "whose", "whom")):
        return "who"
    if re.search(
        (
            r"\b(?:what|which) (?:company|firm|brand|publisher|manufacturer|author|artist|painter|"
            r"person|maker|architect|writer|band|singer|house|museum)\b"
        ),
        fold(question),
    ):
        return "who"
    return word


@lru_cache(maxsize=512)
def mentions_of_relations(question: str) -> tuple[Mention, ...]:
    """All relations the question speaks of, most certain first."""
    tokens = words(question)
    found = [*_nouns(tokens), *_verbs(tokens, asks_for(question)), *_asks(question)]
    best: dict[str, Mention] = {}
    for mention in found:
        known = best.get(mention.relation.name + mention.relation.answer)
        if known is None or mention.score > known.score:
            best[mention.relation.name + mention.relation.answer] = mention
    return tuple(sorted(best.values(), key=lambda m: -m.score))


def _grams(tokens: tuple[str, ...]) -> Iterator[tuple[int, int, str, str]]:
    stems = [stem(w) for w in tokens]
    for size in (4, 3, 2, 1):
        for start in range(len(tokens) - size + 1):
            end = start + size
            yield start, end, " ".join(tokens[start:end]), " ".join(stems[start:end])


def _nouns(tokens: tuple[str, ...]) -> Iterator[Mention]:
    table, verbs, _ = _tables()
    for start, end, plain, stemmed in _grams(tokens):
        for relation in table.get(stemmed, ()):
            if end - start == 1 and (plain in STOPWORDS or _verbal(plain, relation, verbs)):
                continue
            before = tokens[start - 1] if start else ""
            if before in _DEICTIC and relation.answer not in NAMED:
                continue
            score = 2.0 + 0.4 * (end - start - 1)
            score += 0.3 if plain in {" ".join(words(n)) for n in relation.nouns[:2]} else 0.0
            score -= 0.9 if plain in _WEAK_NOUNS else 0.0
            score -= 0.8 if before in _DEICTIC else 0.0
            score -= 1.2 if plain == "year" else 0.0
            score += (
                0.5
                if before
                in {
                    "the",
                    "its",
                    "what",
                    "which",
                    "his",
                    "her",
                    "their",
                    "s",
                    "many",
                    "much",
                    "more",
                    "fewer",
                    "less",
                }
                else 0.0
            )
            yield Mention(relation, score, start, end, "noun")


def _verbal(plain: str, relation: Relation, verbs: Mapping[str, object]) -> bool:
    """Whether a noun entry is really a verb form, which needs its question word to count."""
    if plain in relation.verbs and relation.wh:
        return True
    return plain in verbs and not any(plain in words(noun) for noun in relation.nouns)


def _verbs(tokens: tuple[str, ...], role: str) -> Iterator[Mention]:
    _, table, _ = _tables()
    for start, end, plain, _ in _grams(tokens):
        for relation in table.get(plain, ()):
            score = (2.6 if relation.wh == role else 0.9) + 0.3 * (end - start - 1)
            score -= 0.5 if plain in _WEAK_VERBS else 0.0
            yield Mention(relation, score, start, end, "verb")


def _asks(question: str) -> Iterator[Mention]:
    _, _, table = _tables()
    text = fold(question)
    for pattern, relation in table:
        match = pattern.search(text)
        if match:
            start = len(words(text[: match.start()]))
            yield Mention(relation, 2.8, start, start + max(1, len(words(match.group()))), "ask")


_ADHOC = (
    r"\bnumber of ((?:[a-z-]+ ?){1,2}?)(?: (?:does|do|is|are|in|on|for|of)\b|[?]?$)",
    r"\bhow (?:many|much) ((?:[a-z-]+ ){1,3}?)(?:does|do|did|is|are|was|were|has|have|can|in|on|will)\b",
    (
        r"\b(?:what|which) (?:kind|type|sort|kinds|types) of ((?:[a-z-]+ ?){1,3}?)(?: (?:does|do|did|"
        r"is|are|was|were|has|have|can|in|on)\b|[?]?$)"
    ),
    (
        r"\bwhat(?:'s| is| are| was| were) (?:the|its|his|her|their|"
        r"x's) ((?:[a-z-]+ ?){1,3}?)(?: (?:of|for|on|in|at|to)\b|[?]?$)"
    ),
    r"\b(?:what|which) ((?:[a-z-]+ ){1,2}?)(?:does|do|did|is|are|was|were|has|have|can)\b",
)
_VERB_SLOT = re.compile(
    r"\b(?:who|whom|when|where|what year|which year|how long)\b(?: \w+)*? ?\b(?:this|that|it|x|"
    r"the \w+)?\b ?(?P<verb>[a-z]+(?:ed|en|ew|ade|ung|es|s)?)[?. ]*$"
)
_EMPTY = STOPWORDS | {"x", "year", "kind", "type", "thing", "photo", "picture", "front", "name"}


def adhoc_relation(question: str, answer: Answer) -> Relation | None:
    """A relation made from the question's own words, for anything that the lexicon lacks."""
    text = fold(question)
    for pattern in _ADHOC:
        match = re.search(pattern, text)
        phrase = [w for w in words(match.group(1)) if w not in _EMPTY] if match else []
        if phrase:
            return _made(phrase, answer)
    verb = _VERB_SLOT.search(text)
    if verb and verb["verb"] not in _EMPTY and answer in {Answer.PERSON, Answer.DATE, Answer.PLACE}:
        return _made([verb["verb"]], answer)
    return None


def _made(phrase: list[str], answer: Answer) -> Relation:
    cue = r"\b" + r"\W+".join(re.escape(stem(w)) + r"\w*" for w in phrase)
    role = {Answer.PERSON: "who", Answer.DATE: "when", Answer.PLACE: "where"}.get(answer, "")
    return Relation(" ".join(phrase), answer, (" ".join(phrase),), wh=role, cues=(cue,))
