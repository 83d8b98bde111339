"""Conversations of two to six turns: follow-ups by pronoun, hops, named things, changes of subject."""

from __future__ import annotations

import random
from dataclasses import replace

from evaluation.world.model import Place, Thing, World
from evaluation.world.questions import composite
from evaluation.world.questions.ask import (
    RELATIONS,
    Ask,
    Category,
    Reference,
    ask_fact,
    ask_hop,
    dynamism,
    named,
    pointed_again,
    questions_of,
    related,
    word_answer,
    word_query,
)
from evaluation.world.questions.session import Session, SessionMaker
from evaluation.world.questions.singles import dish_prices

_SHARED_KINDS = ("person", "company", "museum", "venue", "store")
_SHIFT_DOMAINS = {"company": "shopping", "store": "shopping", "venue": "local"}


class Dialogue:
    """Builds one conversation about one photographed thing, turn by turn."""

    def __init__(self, world: World, thing: Thing, rng: random.Random) -> None:
        self._world = world
        self._words = questions_of(world)
        self._thing = thing
        self._rng = rng
        self._asked: set[tuple[str, str]] = set()
        self.turns: list[Ask] = []

    def _add(self, ask: Ask | None) -> bool:
        if ask is None or (ask.entity, ask.attribute) in self._asked:
            return False
        self._asked.add((ask.entity, ask.attribute))
        self.turns.append(ask)
        return True

    def _reference(self) -> Reference:
        """'it' while the thing is still what was last spoken of, otherwise pointing at it again."""
        if self.turns and self.turns[-1].entity == self._thing.name:
            return named("it")
        return pointed_again(self._world, self._thing, self._rng)

    def _attributes(self, kind: str) -> list[str]:
        attributes = list(self._words.attributes.get(kind, {}))
        self._rng.shuffle(attributes)
        return attributes

    def open(self) -> bool:
        """The first turn, which points at the photo."""
        options = (
            ask_fact(self._world, self._thing, a, self._rng) for a in self._attributes(self._thing.kind)
        )
        return any(self._add(ask) for ask in options if ask and ask.answerable)

    def follow(self, *, answerable: bool = True) -> bool:
        """A follow-up on the thing itself, as 'it'."""
        for attribute in self._attributes(self._thing.kind):
            if self._thing.kind == "plaque" and attribute in {"birth year", "death year", "deed"}:
                continue
            ask = ask_fact(self._world, self._thing, attribute, self._rng, self._reference())
            if ask and ask.answerable == answerable:
                return self._add(self._led(ask))
        return False

    def hop(self) -> bool:
        """Two turns at most: who stands behind the thing, then something about them by pronoun."""
        relations = [r for kind, r in RELATIONS if kind == self._thing.kind]
        if not relations:
            return False
        relation = self._rng.choice(relations)
        target = self._world.linked(self._thing, relation)
        if target is None:
            return False
        last = self.turns[-1]
        just_named = (last.entity, last.attribute) == (self._thing.name, relation) and last.answerable
        if just_named:
            return self._hop_turn(relation, target, target.pronoun, by_history=True)
        thing = self._reference()
        this = related(self._world, self._thing, relation, thing.this, self._rng)
        return self._hop_turn(relation, target, this, by_history=thing.pronoun)

    def hop_again(self) -> bool:
        """A second question about whoever the last turn was about, by pronoun."""
        last = self.turns[-1]
        for kind, relation in RELATIONS:
            target = self._world.linked(self._thing, relation) if kind == self._thing.kind else None
            if target and target.name == last.entity:
                return self._hop_turn(relation, target, target.pronoun, by_history=True)
        return False

    def _hop_turn(self, relation: str, target: Thing, this: str, *, by_history: bool) -> bool:
        """`by_history`: only earlier turns say what is meant."""
        for attribute in self._attributes(target.kind):
            ask = ask_hop(self._world, self._thing, relation, attribute, self._rng, this)
            if ask and by_history:
                ask = replace(ask, needs="history")
            if ask and ask.answerable and self._add(self._led(ask)):
                return True
        return False

    def shift(self) -> bool:
        """A change of subject: something named in the question; the photo is of no use."""
        rng = self._rng
        things = [t for kind in _SHARED_KINDS for t in self._world.of_kind(kind) if t.documented]
        linked = set(self._thing.links.values())
        target = rng.choice([t for t in things if t.key not in linked])
        known = [a for a in self._words.attributes[target.kind] if target.known(a, Place.PAGES)]
        attribute = rng.choice(known)
        fact = target.facts[attribute]
        query = word_query(self._world, target.kind, attribute, named(target.spoken), rng)
        return query is not None and self._add(
            Ask(
                Category.KNOWLEDGE, rng.choice(self._words.shifts) + query,
                word_answer(target, attribute, fact.value, rng), fact.value,
                self._thing, target.name, attribute, "web", (), (target.key,),
                domain=_SHIFT_DOMAINS.get(target.kind, "other"), dynamism=dynamism(attribute),
            )
        )  # fmt: skip

    def compare(self) -> bool:
        """The thing against a second one that the turn names."""
        asks = [
            *composite.store_comparison(self._world, self._thing, self._rng),
            *composite.named_comparison(self._world, self._thing, self._rng),
        ]
        if self._thing.kind == "menu":
            asks += [*dish_prices(self._world, self._thing, self._rng)]
            asks += [*composite.menu_aggregations(self._world, self._thing, self._rng)]
        return bool(asks) and self._add(self._led(self._rng.choice(asks)))

    def _led(self, ask: Ask) -> Ask:
        return replace(ask, query=self._rng.choice(self._words.leads) + ask.query)


def _converse(dialogue: Dialogue, length: int, rng: random.Random, *, refuse: bool) -> list[Ask]:
    if not dialogue.open():
        return []
    if refuse:
        dialogue.follow(answerable=False)
    for _ in range(length * 4):
        if len(dialogue.turns) >= length:
            break
        move = rng.choices(
            (dialogue.follow, dialogue.hop, dialogue.hop_again, dialogue.shift, dialogue.compare),
            weights=(40, 20, 15, 12, 13),
        )[0]
        move()
    return dialogue.turns


def conversations(world: World, number: int) -> list[Session]:
    """The multi-turn sessions. Raises ValueError when the world offers too few subjects."""
    rng = world.plan.stream("conversations")
    maker = SessionMaker(world.plan.stream("conversation sessions"))
    subjects = [
        t for t in world if t.photographed and t.kind != "worksheet" and (t.catalogued or t.documented)
    ]
    rng.shuffle(subjects)
    sessions: list[Session] = []
    rounds = 0
    while len(sessions) < number:
        thing = subjects[rounds % len(subjects)]
        rounds += 1
        if rounds > 20 * number:
            raise ValueError(f"only {len(sessions)} of {number} conversations: ask for more entities")
        length = 2 + rounds % 5
        turns = _converse(Dialogue(world, thing, rng), length, rng, refuse=rounds % 6 == 5)
        if len(turns) >= 2:
            sessions.append(maker.session(f"c{len(sessions):04d}", turns))
    return sessions
