"""Question analysis: the task, the asked relation, the hops inside it, the target and the constraints."""

import re
from dataclasses import dataclass, replace

from gateway.reasoning.extractive.comparatives import Comparison, find_comparison
from gateway.reasoning.extractive.hops import find_hops
from gateway.reasoning.extractive.lexical import STOPWORDS, fold, visible, words
from gateway.reasoning.extractive.phrasing import (
    Mention,
    adhoc_relation,
    asks_for,
    mentions_of_relations,
    question_word,
)
from gateway.reasoning.extractive.relation import NUMERIC, Answer, Relation, all_relations
from gateway.reasoning.extractive.targets import Target, TargetKind, find_target
from gateway.reasoning.extractive.tasks import AUXILIARY, Task, task_of
from gateway.state import Ask


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a question asks: `relations`, the asked one first; `chain`, inner hops, innermost last."""

    text: str
    task: Task
    answer: Answer
    relations: tuple[Relation, ...]
    chain: tuple[Relation, ...]
    target: Target
    comparison: Comparison | None = None
    qualifier: tuple[str, ...] = ()

    @property
    def relation(self) -> Relation | None:
        """The asked relation, if one was understood."""
        return self.relations[0] if self.relations else None


DIGRESSION = re.compile(
    r"^(?:(?:by the way|btw|(?:a )?different question|something (?:else|different)|"
    r"unrelated(?:ly)?|another question|on another note|changing the subject|change of subject"
    r"|off topic|separately|side question|quick aside|aside from that|not related|new topic|"
    r"switching topics?)\b[,.:;! ]*(?:but |though )?)+",
    re.I,
)
"""Words that mark a question as a step aside, after which `it` means the earlier topic again."""
_POLITE = re.compile(
    (
        r"^(?:(?:hey|hi|hello|ok|okay|so|well|please|um|hmm|excuse me|and|also|now|then|but|great|"
        r"thanks|thank you|cool|nice|alright|right|good|perfect|got it|i see)\b[,.! ]*)+"
    ),
    re.I,
)
_ASIDE = re.compile(
    (
        r"^(?:i'm|i am|we're|my|since i|because|as i'm|as i am)\b[^,?\d]{3,60},\s+(?=(?:what|which|who|"
        r"when|where|how|is|are|does|do|can|may|could)\b)"
    ),
    re.I,
)
_WRAP = re.compile(
    r"^(?:(?:can|could|would|will) you (?:please )?(?:tell me|say|find out|look up|check|"
    r"help me (?:find|figure out)|let me know|read me|give me)\b"
    r"|(?:do|would) you (?:happen to )?know|tell me|i(?:'d| would) (?:like|love) to know|"
    r"i want to know|i wonder|i'm wondering|i am wondering|any idea"
    r"|let me know|i need to know|i'm curious(?: about)?|do you have any idea|"
    r"remind me)[, ]*(?:if |whether )?",
    re.I,
)
_WH_TYPE = {
    "who": Answer.PERSON,
    "whose": Answer.PERSON,
    "whom": Answer.PERSON,
    "when": Answer.DATE,
    "where": Answer.PLACE,
    "how many": Answer.NUMBER,
    "how old": Answer.NUMBER,
    "why": Answer.EXPLANATION,
    "how": Answer.EXPLANATION,
}


def tidy(question: str) -> str:
    """The question without politeness and wrapping, on one line."""
    text = " ".join(visible(question).split())
    for _ in range(3):
        cut = _ASIDE.sub("", _WRAP.sub("", _POLITE.sub("", DIGRESSION.sub("", text)))).strip()
        if not cut or cut == text:
            break
        text = cut
    return text


def analyse(ask: Ask) -> Analysis:
    """Everything the reader needs to know about a question; follow-ups borrow from the turn before."""
    text = tidy(ask.question)
    analysis = _analyse(replace(ask, question=text))
    if ask.history and _is_elliptic(text, analysis):
        return _borrow(ask, text, analysis)
    return analysis


def _analyse(ask: Ask) -> Analysis:
    text = ask.question
    target = find_target(ask)
    comparison = find_comparison(text, target.names)
    relations, chain = _relations(text, target)
    answer = _answer_type(text, relations)
    task = task_of(text, relations, comparison)
    if not relations and task is Task.CHECK and re.search(r"\b(?:by|from)\b", fold(text)):
        relations = tuple(r for r in all_relations() if r.name in _MAKERS and r.wh == "who")
    if not relations and task is Task.LOOKUP:
        made = adhoc_relation(text, answer)
        relations = (made,) if made else ()
        task = task if relations else Task.EXPLAIN
    return Analysis(
        text, task, answer, relations, chain, target, comparison, _qualifier(text, relations, chain, target)
    )


_MAKERS = frozenset({"author", "painter", "designer", "composer", "publisher", "manufacturer"})
"""Whom "is this by N?" may mean."""


def _relations(text: str, target: Target) -> tuple[tuple[Relation, ...], tuple[Relation, ...]]:
    """The asked relation with its near synonyms, and the inner hops that lead to its subject."""
    bare = _without_names(text, target)
    hops = find_hops(bare, target.label)
    passed = {hop.name for hop in hops.chain}
    mentions = [
        m for m in mentions_of_relations(hops.rest) if m.score >= 1.0 and m.relation.name not in passed
    ]
    outer = _outer(mentions, hops.rest) if mentions else None
    if outer is None:
        return (), hops.chain
    if _TOWN.search(fold(text)):
        mentions = [m for m in mentions if m.relation.name not in {"country of origin", "country"}]
        outer = _outer(mentions, hops.rest) if mentions else None
        if outer is None:
            return (), hops.chain
    same = [
        m
        for m in mentions
        if m.score >= outer.score - 0.7 and _overlap(m, outer) and _compatible(m.relation, outer.relation)
    ]
    return (outer.relation, *(m.relation for m in same)), hops.chain


_TOWN = re.compile(r"\b(?:what|which) (?:town|city|village)\b")


def _compatible(other: Relation, asked: Relation) -> bool:
    """Whether two relations could answer the same question."""
    if asked.name in {"launch price", "sale price", "delivery fee", "entry fee"}:
        return False
    if asked.answer is Answer.PHRASE:
        return False
    alike = other.answer is asked.answer or {other.answer, asked.answer} == {Answer.PERSON, Answer.NAME}
    return alike and other != asked and other.dimension == asked.dimension


def _without_names(text: str, target: Target) -> str:
    for name in target.names:
        text = text.replace(name, " X ")
    return " ".join(text.split())


def _overlap(a: Mention, b: Mention) -> bool:
    return a.start < b.end and b.start < a.end


def _outer(mentions: list[Mention], text: str) -> Mention | None:
    """The mention that the question word asks for."""
    role = asks_for(text)
    counting = question_word(text).startswith(("how many", "how much", "how long"))
    named = re.search(r"\b(?:what|which)(?:'s the|'s its| is the| is its)? ([a-z]+)", fold(text))
    head = (
        named.group(1)
        if named
        and named.group(1) not in STOPWORDS | {"year", "day", "date", "kind", "type", "sort", "town", "city"}
        else ""
    )
    placed = any(m.how == "verb" and m.relation.wh == role == "where" for m in mentions)

    def fit(m: Mention) -> float:
        score = m.score
        if m.how == "verb" and m.relation.wh != role:
            score -= 1.5
        if m.how == "noun" and role in _ROLE_ANSWERS and m.relation.answer not in _ROLE_ANSWERS[role]:
            score -= 1.2
        if counting and m.relation.answer not in NUMERIC | {Answer.DATE}:
            score -= 1.2
        if m.relation.name == "address" and role == "where":
            score += 1.7
        if placed and m.relation.name in _GENERIC_PLACES:
            score -= 1.0
        if m.relation.name == "title" and len(mentions) > 1:
            score -= 0.9
        if head and head in {n for noun in m.relation.nouns for n in words(noun)}:
            score += 0.7
        return score

    best = max(mentions, key=lambda m: (fit(m), m.end - m.start, -m.start))
    if question_word(text) == "how many" and best.relation.answer not in NUMERIC:
        return None
    return best if fit(best) >= 0.8 else None


_GENERIC_PLACES = frozenset({"city", "country", "venue", "location", "capital"})
_ROLE_ANSWERS = {
    "who": {Answer.PERSON, Answer.NAME},
    "when": {Answer.DATE, Answer.HOURS, Answer.WEEKDAY},
    "where": {Answer.PLACE},
}


def _answer_type(text: str, relations: tuple[Relation, ...]) -> Answer:
    word = question_word(text)
    if re.match(r"\bwhat(?:'s| is)? (?:the )?number of\b", fold(text)) and not relations:
        return Answer.NUMBER
    if AUXILIARY.match(text) and not re.search(r"\b(?:or)\b.*\?", text):
        return Answer.YES_NO
    if relations:
        return relations[0].answer
    for start, kind in _WH_TYPE.items():
        if word == start:
            return kind
    if word == "how much":
        return Answer.QUANTITY
    role = asks_for(text)
    return {"when": Answer.DATE, "where": Answer.PLACE, "who": Answer.PERSON}.get(role, Answer.PHRASE)


def _qualifier(
    text: str, relations: tuple[Relation, ...], chain: tuple[Relation, ...], target: Target
) -> tuple[str, ...]:
    """Content words that neither name the relation nor point at the target ("soup")."""
    spoken: set[str] = set()
    for relation in (*relations, *chain):
        for phrase in (*relation.nouns, *relation.verbs):
            spoken.update(words(phrase))
    skip = (
        spoken
        | STOPWORDS
        | {"much", "many", "cost", "costs", "price", "euro", "euros", "exactly", "list", target.label or ""}
    )
    skip |= {
        "holding",
        "looking",
        "photo",
        "picture",
        "image",
        "front",
        "front's",
        "year",
        "day",
        "time",
        "long",
        "kind",
        "type",
        "thing",
    }
    return tuple(w for w in words(text) if w not in skip)


def _is_elliptic(text: str, analysis: Analysis) -> bool:
    folded = fold(text)
    if analysis.task is Task.IDENTIFY:
        return False
    if re.match(r"^(?:what|how) about\b", folded) or re.match(
        r"^(?:the|its|his|her|in|for|with|by)\b", folded
    ):
        return True
    return len(words(text)) <= 3 and analysis.relation is None


def _borrow(ask: Ask, text: str, analysis: Analysis) -> Analysis:
    """`And the tea?`, `where?`: the previous question, of another thing or with another word."""
    previous = next((t.question for t in reversed(ask.history)), "")
    before = _analyse(replace(ask, question=tidy(previous), history=ask.history[:-1]))
    if analysis.relation is not None and analysis.task is not Task.EXPLAIN:
        return analysis
    if question_word(text) and len(words(text)) <= 3:
        merged = re.sub(
            r"^\s*(?:in )?(?:who|when|where|what|which)(?: year| city)?\b",
            question_word(text),
            tidy(previous),
            flags=re.I,
        )
        return _analyse(replace(ask, question=merged))
    names = analysis.target.names
    target = analysis.target if names else before.target
    rest = tuple(w for w in words(text) if w not in STOPWORDS)
    return replace(before, text=f"{before.text} {text}", target=target, qualifier=() if names else rest)


__all__ = ["Analysis", "Target", "TargetKind", "Task", "analyse", "tidy"]
