"""Question analysis: the task, the asked relation, the hops inside it, the target and the constraints."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from gateway.reasoning.extractive.comparatives import Comparison, find_comparison
from gateway.reasoning.extractive.lexical import STOPWORDS, fold, visible, words
from gateway.reasoning.extractive.phrasing import (
    Mention,
    adhoc_relation,
    asks_for,
    mentions_of_relations,
    question_word,
)
from gateway.reasoning.extractive.relation import NAMED, Answer, Relation
from gateway.reasoning.extractive.targets import Target, TargetKind, find_target
from gateway.state import Ask


class Task(StrEnum):
    """What has to be done with the evidence."""

    LOOKUP = "lookup"
    IDENTIFY = "identify"
    READ = "read"
    EXPLAIN = "explain"
    COMPARE = "compare"
    WORKS = "works"
    ROWS = "rows"
    WORKSHEET = "worksheet"
    RULE = "rule"
    OPEN_AT = "open_at"
    AGE_AT = "age_at"
    YEARS_BETWEEN = "years_between"
    MULTIPLY = "multiply"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a question asks. `relations`: the asked one first, then near synonyms; `chain`: inner hops, innermost last."""

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


_POLITE = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|so|well|please|um|hmm|excuse me|and|also|now|then|but|great|thanks|thank you|cool|nice|alright)\b[,.! ]*)+",
    re.I,
)
_WRAP = re.compile(
    r"^(?:(?:can|could|would|will) you (?:please )?(?:tell me|say|find out|look up|check|help me (?:find|figure out)|let me know|read me|give me)\b"
    r"|(?:do|would) you (?:happen to )?know|tell me|i(?:'d| would) (?:like|love) to know|i want to know|i wonder|i'm wondering|i am wondering|any idea"
    r"|let me know|i need to know|i'm curious(?: about)?|do you have any idea|remind me)[, ]*(?:if |whether )?",
    re.I,
)
_AUX = re.compile(r"^(?:is|are|was|were|does|do|did|can|could|may|might|has|have|had|will|would|should|am|isn't|aren't|doesn't)\b", re.I)
_WH_TYPE = {
    "who": Answer.PERSON, "whose": Answer.PERSON, "whom": Answer.PERSON, "when": Answer.DATE, "where": Answer.PLACE,
    "how many": Answer.NUMBER, "how old": Answer.NUMBER, "why": Answer.EXPLANATION, "how": Answer.EXPLANATION,
}  # fmt: skip


def tidy(question: str) -> str:
    """The question without politeness and wrapping, on one line."""
    text = " ".join(visible(question).split())
    for _ in range(3):
        cut = _WRAP.sub("", _POLITE.sub("", text)).strip()
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
    comparison = find_comparison(text)
    relations, chain = _relations(text, target)
    answer = _answer_type(text, relations)
    task = _task(text, relations, comparison, target)
    if not relations and task is Task.LOOKUP:
        made = adhoc_relation(text, answer)
        relations = (made,) if made else ()
        task = task if relations else Task.EXPLAIN
    return Analysis(text, task, answer, relations, chain, target, comparison, _qualifier(text, relations, chain, target))


def _relations(text: str, target: Target) -> tuple[tuple[Relation, ...], tuple[Relation, ...]]:
    """The asked relation with its near synonyms, and the inner hops that lead to its subject."""
    bare = _without_names(text, target)
    mentions = [m for m in mentions_of_relations(bare) if m.score >= 1.5 or m.how == "noun"]
    if not mentions:
        return (), ()
    role = asks_for(bare)
    outer = _outer(mentions, bare, role)
    if outer is None:
        return (), ()
    same = [m for m in mentions if m.score >= outer.score - 0.7 and _overlap(m, outer) and m.relation != outer.relation]
    inner = [m for m in mentions if m.relation.answer in NAMED and not _overlap(m, outer) and _refers(m, bare)]
    relative = _relative_hop(bare, outer)
    chain = relative or _chain(inner, outer, bare)
    return (outer.relation, *(m.relation for m in same)), chain


def _without_names(text: str, target: Target) -> str:
    for name in target.names:
        text = text.replace(name, " X ")
    return " ".join(text.split())


def _overlap(a: Mention, b: Mention) -> bool:
    return a.start < b.end and b.start < a.end


def _outer(mentions: list[Mention], text: str, role: str) -> Mention | None:
    """The mention that the question word asks for; of nested nouns, the head ("birthplace of its author")."""

    def fit(m: Mention) -> float:
        score = m.score
        if m.how == "verb" and m.relation.wh != role:
            score -= 1.5
        if m.how == "noun" and role in {"who", "when", "where"} and not _fits_role(m.relation, role):
            score -= 1.2
        if m.how == "noun" and _refers(m, text) and role in {"who", "when", "where"} and m.relation.answer in NAMED and role != "who":
            score -= 1.0
        if m.how == "noun" and role not in {"who", "when", "where"}:
            score -= 0.6 if _followed_by_possession(m, text) else 0.0
            score += 0.2 if re.search(r"\bof\b", " ".join(words(text)[m.end : m.end + 1])) else 0.0
        return score

    best = max(mentions, key=lambda m: (fit(m), m.end - m.start, -m.start))
    return best if fit(best) >= 0.8 else None


def _followed_by_possession(m: Mention, text: str) -> bool:
    """`the author's birthplace`: the noun that owns is not the one that is asked for."""
    folded = fold(text)
    phrase = " ".join(words(text)[m.start : m.end])
    return re.search(re.escape(phrase) + r"'s?\s", folded) is not None


def _fits_role(relation: Relation, role: str) -> bool:
    fits = {"who": {Answer.PERSON, Answer.NAME}, "when": {Answer.DATE, Answer.HOURS}, "where": {Answer.PLACE}}
    return relation.answer in fits[role]


_ROLE_HEADS = "author|writer|painter|artist|publisher|company|manufacturer|maker|firm|brand|composer|founder|architect|designer|illustrator|director|sculptor|inventor|producer|owner|band|singer|venue|museum|gallery|city|town|village|birthplace|hometown|poet|novelist|photographer|creator|brewery|bakery|developer|chef|organiser|organizer|performer|translator|publishing house|factory"


def _refers(m: Mention, text: str) -> bool:
    """Whether a noun stands for its bearer ("the author", "its painter", "this artist")."""
    if m.how != "noun":
        return False
    phrase = " ".join(words(text)[m.start : m.end])
    return re.fullmatch(rf"(?:{_ROLE_HEADS})s?", phrase) is not None


_RELATIVE = re.compile(
    r"\b(?:company|firm|brand|person|man|woman|artist|author|people|one|business|maker|writer|painter|someone|city|town|place|village|country|museum|house|studio)"
    r" (?:who|that|which|where|behind|in which|in whose)\b(?P<rest>.*)"
)


def _relative_hop(text: str, outer: Mention) -> tuple[Relation, ...]:
    """`the company that makes this`, `the town where its author was born`: the hops inside the relative clause."""
    match = _RELATIVE.search(fold(text))
    if match is None:
        return ()
    where = " where " in match.group() or " in which " in match.group()
    role = "where" if where else "who"
    clause = f"{role} {match.group('rest')}"
    hops = [m for m in mentions_of_relations(clause) if m.how != "ask" and m.relation.name != outer.relation.name]
    first = next((m for m in hops if m.how == "verb" and m.relation.wh == role), None)
    if first is None:
        return ()
    deeper = next((m.relation for m in hops if _refers(m, clause) and not _overlap(m, first)), None)
    return (first.relation, deeper) if deeper else (first.relation,)


def _chain(inner: list[Mention], outer: Mention, text: str) -> tuple[Relation, ...]:
    """Inner hops from the outermost to the one next to the target."""
    chosen: list[Mention] = []
    for m in sorted(inner, key=lambda m: -m.score):
        if m.relation.name != outer.relation.name and not any(_overlap(m, c) for c in chosen):
            chosen.append(m)
    before_of = re.search(r"\bof\b", fold(text)) is not None
    chosen.sort(key=lambda m: m.start if before_of else -m.start)
    return tuple(m.relation for m in chosen[:2])


def _answer_type(text: str, relations: tuple[Relation, ...]) -> Answer:
    word = question_word(text)
    if _AUX.match(text) and not re.search(r"\b(?:or)\b.*\?", text):
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


_READ = re.compile(
    r"\b(?:what|which)\b.*\b(?:says?|said|written|printed|inscribed|inscription|reads?|engraved|text|words?|wording|slogan|message|handwritten)\b"
    r"|\bread (?:this|that|it|the|me|out|aloud)\b|\btranscribe\b|\bsay on\b"
)
_IDENTIFY = re.compile(
    r"^(?:what(?:'s| is| are|) (?:exactly )?(?:this|that|these|it)(?: (?:thing|object|\w+))?(?: (?:here|called|i'm \w+(?: at)?|in front of me|in my hands?|on the \w+|exactly|in the (?:photo|picture|image)))*"
    r"|which \w+(?: \w+)? (?:is|am|are|was) (?:this|that|it|i|these)\b.*|what \w+ (?:is|are) (?:this|that|it|these)"
    r"|what am i (?:looking at|holding|seeing).*|identify .*|what (?:book|painting|product|device|poster|shop|store|dish|place|building|plant|animal|car|picture|artwork|event|museum|restaurant|cafe)\b.*\b(?:am i|is this|is that|is it|i'm)\b.*"
    r"|do you recogni[sz]e .*|name (?:this|that|the) \w+)[?.! ]*$"
)
_TITLE = re.compile(r"\b(?:title|name|called|titled|entitled|named)\b")
_WORKS = re.compile(
    r"\bwhat else\b|\b(?:what|which|name|list|any|how many|some)\b.*\b(?:other|else|more|all|another|novels|books|paintings|works|titles|products|albums|films)\b.*"
    r"\b(?:written|wrote|write|published|painted|paint|made|makes?|manufactures?|produces?|created|composed|by|from|author|artist|painter|brand|company|designed|directed|released|sells?)\b"
)
_ROWS = re.compile(
    r"\b(?:cheapest|most expensive|priciest|dearest|least expensive|lowest price|highest price|costliest)\b"
    r"|\b(?:which|what|how many|list|name|any|count|are there)\b.*\b(?:under|below|less than|cheaper than|at most|over|above|more than|up to|cost|costs|no more than|on (?:this|the) (?:menu|list|board))\b"
    r"|\b(?:total|altogether|together|sum|in all|combined|both)\b|\bdifference\b|\bhow much (?:more|less|cheaper)\b|\baverage price\b|\bhow much change\b"
)
_WORKSHEET = re.compile(
    r"\b(?:solve|solution|calculate|compute|work out|evaluate|simplify|answer (?:to|for|of)|result of|correct answer|equals?|figure out)\b"
    r"|\b(?:question|problem|exercise|number|item|task|equation|sum|nr|no\.?|#|part|line|one) ?(?:\d+|[a-h]\b|one|two|three|four|five|first|second|third|last)|\bwhat(?:'s| is) \d|\b(?:area|perimeter|hypotenuse|volume|circumference|force|speed|voltage|density|pressure|angle|average) (?:of|in|for|here)\b"
)
_RULE = re.compile(
    r"^(?:can|may|could|should|am|is|are|would|will|do|does)\b.*\b(?:bring|carry|take|allowed|permitted|legal|fit|safe|carry-on|hand luggage|cabin|park|enter|board|pass|plane|flight|mail|post|ship|checked|suitable|qualify|old enough|exceed|within|over the limit|limit)\b"
)
_OPEN = re.compile(r"\b(?:open|closed|shut)\b.*(?:\b(?:at|on|now|today|tomorrow|sunday|monday|tuesday|wednesday|thursday|friday|saturday|weekend|noon|midnight|by|before|after)\b|\d)|\b(?:at|on)\b.*\b(?:open|closed|shut)\b")
_AGE = re.compile(r"\bhow old (?:was|were|is|are|would)\b|\bat what age\b|\bwhat age (?:was|did)\b|\bage (?:of|when|at)\b|\baged when\b")
_YEARS = re.compile(r"\bhow many years\b|\bhow (?:long|many years) (?:before|after|ago|between|since|has|have|had|did|lived)\b|\byears (?:before|after|between|passed|apart|separate)\b|\bhow long ago\b|\bhow long did .* live\b")
_MULTIPLY = re.compile(
    r"\b(?:how much|how many|what|total)\b.*\b(?:(?:two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|\d+)\s+(?:of (?:these|this|them|it)|tickets?|copies|servings?|portions?|bottles?|packs?|packets?|boxes|people|bags|cans|bars|jars|units|pieces|cups|adults|glasses|slices|cookies|biscuits|nights|hours|days|weeks))\b"
    r"|\b(?:whole|entire|full|complete) (?:pack|packet|bag|box|bottle|package|can|jar|bar|tin|thing|carton|tub|tray)\b"
)


def _task(text: str, relations: tuple[Relation, ...], comparison: Comparison | None, target: Target) -> Task:
    folded = fold(text)
    yes_no = _AUX.match(text) is not None
    if comparison is not None:
        return Task.COMPARE
    if _WORKS.search(folded) and not yes_no and not re.search(r"\bwhat year|when\b", folded):
        return Task.WORKS
    if yes_no and _OPEN.search(folded):
        return Task.OPEN_AT
    for pattern, task in ((_AGE, Task.AGE_AT), (_YEARS, Task.YEARS_BETWEEN), (_MULTIPLY, Task.MULTIPLY), (_ROWS, Task.ROWS)):
        if pattern.search(folded) and not (task is Task.YEARS_BETWEEN and not re.search(r"ago|between|before|after|apart|pass|live|since|\bhas\b|separate|old", folded)):
            return task
    if _RULE.search(folded):
        return Task.RULE
    if _WORKSHEET.search(folded) and (target.label in {"worksheet", "problem", "equation", "exercise", "page", "sheet", "homework", "quiz", "paper", None}):
        return Task.WORKSHEET
    if _READ.search(folded) and not (relations and relations[0].answer in NAMED):
        return Task.READ
    named_title = bool(relations) and relations[0].name == "title"
    if _IDENTIFY.match(folded) or (named_title and not relations[1:]) or (not relations and _TITLE.search(folded) and not yes_no):
        return Task.IDENTIFY
    if yes_no:
        return Task.CHECK
    return Task.LOOKUP


def _qualifier(text: str, relations: tuple[Relation, ...], chain: tuple[Relation, ...], target: Target) -> tuple[str, ...]:
    """Content words that neither name the relation nor point at the target: "soup" in "how much is the soup"."""
    spoken: set[str] = set()
    for relation in (*relations, *chain):
        for phrase in (*relation.nouns, *relation.verbs):
            spoken.update(words(phrase))
    skip = spoken | STOPWORDS | {"much", "many", "cost", "costs", "price", "euro", "euros", "exactly", "list", target.label or ""}
    skip |= {"holding", "looking", "photo", "picture", "image", "front", "front's", "year", "day", "time", "long", "kind", "type", "thing"}
    return tuple(w for w in words(text) if w not in skip)


def _is_elliptic(text: str, analysis: Analysis) -> bool:
    folded = fold(text)
    if re.match(r"^(?:what|how) about\b", folded) or re.match(r"^(?:the|its|his|her|in|for|with|by)\b", folded):
        return True
    return len(words(text)) <= 3 and analysis.relation is None


def _borrow(ask: Ask, text: str, analysis: Analysis) -> Analysis:
    """`And the tea?`, `where?`: asks the previous question again of another thing, or with another question word."""
    previous = next((t.question for t in reversed(ask.history)), "")
    before = _analyse(replace(ask, question=tidy(previous), history=ask.history[:-1]))
    if analysis.relation is not None and analysis.task is not Task.EXPLAIN:
        return analysis
    if question_word(text) and len(words(text)) <= 3:
        merged = re.sub(r"^\s*(?:in )?(?:who|when|where|what|which)(?: year| city)?\b", question_word(text), tidy(previous), flags=re.I)
        return _analyse(replace(ask, question=merged))
    names = analysis.target.names
    target = analysis.target if names else before.target
    rest = tuple(w for w in words(text) if w not in STOPWORDS)
    return replace(before, text=f"{before.text} {text}", target=target, qualifier=() if names else rest)


__all__ = ["Analysis", "Target", "TargetKind", "Task", "analyse", "tidy"]
