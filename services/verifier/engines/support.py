"""How one claim meets the evidence: what of it is found, where, about what, and in which relation."""

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from contracts.verifier import CheckName
from language.names import mentions, name_words, names, same_name
from language.paraphrase import expansions, opposites
from language.quantities import Quantity
from language.questions import BARE_DATE, AnswerType
from language.reference import Description, description, pointer
from language.words import COPULAS, content_stems, words
from services.verifier.engines.claims import Claim
from services.verifier.engines.comparing import compare
from services.verifier.engines.evidence import Statement, covered
from services.verifier.engines.parts import is_result, parts_of
from services.verifier.engines.polarity import conflicts, denies, stances

_OPENING = 5
"""Characters before a sentence's subject: room for "The "."""
_ADJUNCT = re.compile(
    r"\s*(?:in|at|on|from|near|to|by|with|for|of|outside|inside)\s+(?:(?:the|an?|its|his|her|their|this|that)\s+)?\Z"
)
_WHEN = re.compile(r"\d:\d\d|day\b|\b(?:night|morning|evening|noon|midnight|daily|[ap]\.?m)\b", re.IGNORECASE)
_UNKNOWN = 0.5
"""Where it cannot be seen whether an answer is of the wanted type, or what a sentence says besides it."""


@dataclass(frozen=True, slots=True)
class Features:
    """Every field grows with support, but for those in `FALLING`. All in 0..1.

    `complete`: the evidence has all numbers, dates, names and other words of the claim, and contradicts none.
    `about`: the best sentence is about the claim's subject. `topic`: share of the question's other names
    beside it. `relation`: how much it says of what is asked; `behind`: how much more another sentence says;
    `explained`: how little else it says; `otherwise`: it says something else in so few words; `turned`: the
    opposite; `answer_type`: the claim has what the question word wants; `loose`: "V in the R", no "R is V".
    """

    complete: float
    about: float
    topic: float
    relation: float
    behind: float
    explained: float
    otherwise: float
    turned: float
    answer_type: float
    loose: float

    def vector(self) -> tuple[float, ...]:
        """The fields in declaration order."""
        return astuple(self)


FALLING = frozenset({"behind", "otherwise", "turned", "loose"})


@dataclass(frozen=True, slots=True)
class Support:
    """What became of a claim; `statement`: the sentence that it rests on most; `missing`: what none has."""

    features: Features
    statement: Statement
    missing: tuple[tuple[CheckName, str], ...]
    denied: tuple[str, ...]
    elsewhere: str


class Weighing:
    """A claim against the sentences of the evidence, of which there is at least one."""

    def __init__(self, claim: Claim, statements: Sequence[Statement]) -> None:
        self._claim, self._asked, self._facts = claim, claim.asked, claim.facts
        self._statements = statements
        self._compared = compare(claim, statements)
        # What weighs one value against another says so itself.
        weighs = len(claim.values) > 1 and self._asked.question.wanted is AnswerType.YES_NO
        self._relation = frozenset[str]() if weighs or self._compared == "" else self._asked.relation
        self._subject = self._subject_of_claim()
        self._parts = parts_of(claim)
        ranked = sorted(statements, key=self._merit, reverse=True)
        self._best = ranked[0]
        found = [(part, next((s for s in ranked if part.places(s.facts)), None)) for part in self._parts]
        amounts = [part.value for part, s in found if s is not None and isinstance(part.value, Quantity)]
        self._lacking = [part for part, s in found if s is None and not is_result(part.value, amounts)]
        self._resting = self._best.stems.union(*(s.stems for _, s in found if s is not None))
        self._led = self._leads_here()
        if self._led:
            described, bridge = self._led
            self._resting |= bridge.stems
            self._relation -= content_stems(described.phrase.text)
        stated = {word.folded for word in self._best.facts.plain}
        if stated and stated <= BARE_DATE:
            self._relation -= self._asked.question.making

    def support(self) -> Support:
        """All features of the claim, and what is wrong with it."""
        missing, denied, loose = self._missing(), self._denied(), self._is_loose()
        relation = 0.0 if loose else covered(self._relation, self._best.facts.stems)
        explained, otherwise = self._besides(relation)
        features = Features(
            complete=float(not (missing or denied or self._compared)),
            about=float(self._compared == "" or self._led is not None or self._is_about(self._best)),
            topic=self._topic(),
            relation=relation,
            behind=max(covered(self._asked.sought, s.stems) for s in self._statements) - self._said(),
            explained=0.0 if loose else explained,
            otherwise=otherwise,
            turned=float(self._is_turned()),
            answer_type=self._answer_type(),
            loose=float(loose),
        )
        return Support(features, self._best, missing, denied, self._compared or "")

    def _leads_here(self) -> tuple[Description, Statement] | None:
        """The sentence that says whom the question describes ("its maker"), if the best one tells of that."""
        described = description(self._asked.question.text)
        if described is None:
            return None
        sought = content_stems(described.phrase.text) - content_stems(self._asked.entity or "")
        shown = pointer(described.phrase.text)
        sought -= content_stems(shown.text) if shown and self._asked.entity else frozenset()
        for each in self._statements:
            # A maker's name may be part of its product's: only the product's own leads nowhere.
            thing = self._asked.entity or self._subject or ""
            values = (name.text for name in each.facts.names if not same_name(thing, name.text))
            if (
                each is not self._best
                and covered(sought, each.stems) == 1.0
                and any(self._best.is_about(v) and not _only_in_longer(self._best, v) for v in values)
            ):
                return described, each
        return None

    def _said(self) -> float:
        return covered(self._asked.sought, self._resting)

    def _merit(self, statement: Statement) -> tuple[int, float]:
        """How much a sentence has of the claim, and then of the question."""
        facts, relation = statement.facts, self._asked.relation
        # A value counts twice: whose it is, is judged by the sentence that gives it.
        found = sum(1 + (part.check is not CheckName.ENTITY) for part in self._parts if part.places(facts))
        said = covered(self._claim.terms, facts.stems) + covered(relation, facts.stems)
        return found, said + covered(relation, statement.context) + self._is_about(statement)

    def _missing(self) -> tuple[tuple[CheckName, str], ...]:
        shown = {word.stem: word.text for word in self._facts.words}
        absent = [each for each in sorted(self._claim.terms) if covered([each], self._resting) == 0.0]
        lacking = [(part.check, part.text) for part in self._lacking]
        return (*lacking, *((CheckName.TERMS, shown[each]) for each in absent))

    def _denied(self) -> tuple[str, ...]:
        """Words on whose truth claim and evidence disagree; a mere phrase affirms nothing."""
        claim, said = self._claim, stances(self._facts)
        tells = claim.verdict is not None or self._asked.question.wanted is AnswerType.YES_NO
        if not (tells or denies(self._facts.text)) and self._facts.stems.isdisjoint(self._asked.relation):
            return ()
        if claim.restates and claim.verdict is False:
            said = {word: not affirmed for word, affirmed in said.items()}
        return tuple(conflicts(said, stances(self._best.facts)))

    def _subject_of_claim(self) -> str | None:
        """What the claim tells of: the name it opens with if the evidence has that too, else the asked."""
        asked = self._asked
        named_only = asked.topics and asked.entity and not asked.question.points
        told = asked.topics[0] if named_only else asked.entity
        first = next((name.text for name in self._facts.names if name.start <= _OPENING), None)
        if first is None or len(self._facts.words) <= len(words(first)) + 1:
            return told
        return first if any(s.is_about(first) for s in self._statements) else told

    def _is_about(self, statement: Statement) -> bool:
        """Whether the sentence or its title names the subject, goes on about it or about what is its."""
        subject, facts = self._subject, statement.facts
        if not subject:
            return True
        if statement.is_about(subject):
            return not _only_in_longer(statement, subject)
        known = frozenset(words(f"{self._asked.question.text} {self._facts.text} {subject}"))
        opening = [name.text for name in facts.names if name.start <= _OPENING]
        if mentions(statement.around, subject) and all(
            known.issuperset(name_words(name)) for name in opening
        ):
            return True
        beside = (n.text for s in self._statements if mentions(s.facts.text, subject) for n in s.facts.names)
        return any(mentions(statement.title or facts.text, n) for n in beside if not mentions(subject, n))

    def _topic(self) -> float:
        topics, present = self._asked.topics, self._best.context | self._resting | self._facts.stems
        return sum(content_stems(each) <= present for each in topics) / len(topics) if topics else 1.0

    def _besides(self, relation: float) -> tuple[float, float]:
        """`explained` and `otherwise` of what the sentence says beyond the answer and what it is about."""
        named = content_stems(" ".join([self._subject or "", self._best.title, *self._asked.topics]))
        other = self._best.facts.stems - named - self._facts.stems.difference(self._asked.known)
        # An answer that repeats the whole sentence leaves nothing else: then all of it is looked at.
        other = other or frozenset(word.stem for word in self._best.facts.plain) - named
        if not self._relation or not other:
            return (_UNKNOWN if self._relation else 1.0), 0.0
        same = other & self._asked.known
        return len(same) / len(other), 0.0 if same or relation else 1 / len(other)

    def _is_turned(self) -> bool:
        asked, best = self._asked.facts, self._best.facts
        if self._claim.verdict is not None or self._asked.question.wanted is AnswerType.YES_NO:
            return False
        against = frozenset[str]().union(*map(opposites, asked.stems - best.stems)) - asked.stems
        return (denies(asked.text) and not denies(best.text)) or not against.isdisjoint(best.stems)

    def _answer_type(self) -> float:
        asked, facts, amounts = self._asked.question, self._facts, self._facts.quantities
        if self._compared == "":
            return 1.0
        says = self._parts or self._claim.terms or self._claim.restates or asked.wanted is AnswerType.YES_NO
        match asked.wanted if says else None:
            case None:
                return 0.0
            case AnswerType.DATE:
                return float(bool(facts.dates) or _WHEN.search(facts.text) is not None)
            case AnswerType.MONEY:
                return float(any(amount.dimension.startswith("money") for amount in amounts))
            case AnswerType.QUANTITY:
                fitting = asked.dimensions
                return float(any(not fitting or amount.dimension in fitting for amount in amounts))
            case AnswerType.NUMBER:
                counted = frozenset(asked.focus).union(*map(expansions, asked.focus), {""})
                return float(any(q.dimension or not asked.focus or q.unit in counted for q in amounts))
            case AnswerType.PERSON | AnswerType.PLACE:
                return float(self._names_something())
            case AnswerType.NAME if self._names_something():
                return 1.0
        return _UNKNOWN

    def _names_something(self) -> bool:
        return bool(self._claim.new_names or (self._facts.names and not self._facts.values))

    def _is_loose(self) -> bool:
        """Whether what is asked for stands only in an adjunct of the answer: "met him in the capital"."""
        asked, relation, best = self._asked.question, self._asked.relation, self._best.facts
        copula = asked.words[asked.wh + 1 : asked.wh + 2] if asked.wh is not None else ()
        if not copula or copula[0].folded not in COPULAS or len(relation) != 1:
            return False
        heads = [word.start for word in best.words if covered(relation, frozenset({word.stem}))]
        ends = [end for part in self._parts for _, end in part.places(best)]
        ends += [word.end for word in best.words if word.stem in self._claim.terms]
        return any(_ADJUNCT.fullmatch(best.text[end:head]) for end in ends for head in heads if end < head)


def _only_in_longer(statement: Statement, thing: str) -> bool:
    """Whether every name in the sentence and its title that begins with the thing's goes on: "R8 Mark II"."""
    own = name_words(thing)
    every = [name_words(name.text) for name in (*statement.facts.names, *names(statement.title))]
    longer = [name for name in every if name[: len(own)] == own]
    return bool(longer) and all(len(name) > len(own) for name in longer)
