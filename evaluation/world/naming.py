"""Seeded grammars for names that look European and belong to nobody."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass

from evaluation.world import wordstock as words
from evaluation.world.plan import Split

_ATTEMPTS = 20_000


@dataclass(frozen=True)
class Person:
    """An invented person's name."""

    first: str
    last: str
    woman: bool

    @property
    def full(self) -> str:
        return f"{self.first} {self.last}"


class Names:
    """Draws names that are unique in this world and impossible in the other splits' worlds.

    Every name hashes into one partition, and a split accepts only its own.
    """

    def __init__(self, rng: random.Random, partition: int) -> None:
        self._rng = rng
        self._partition = partition
        self._taken: set[str] = set()

    def _in_partition(self, candidate: str) -> bool:
        digest = hashlib.sha256(candidate.lower().encode()).digest()
        return digest[0] % len(Split) == self._partition

    def _fresh(self, draw: Callable[[], str]) -> str:
        for _ in range(_ATTEMPTS):
            before = len(self._taken)
            candidate = draw()
            # A name that contains a fresh name is already impossible elsewhere.
            contains_fresh = len(self._taken) > before
            free = candidate.lower() not in self._taken
            if free and (contains_fresh or self._in_partition(candidate)):
                self._taken.add(candidate.lower())
                return candidate
        raise RuntimeError("the naming grammar is exhausted: ask for fewer entities")

    def _pick(self, options: tuple[str, ...]) -> str:
        return self._rng.choice(options)

    def surname(self) -> str:
        """A surname that nobody else here bears."""

        def draw() -> str:
            head, middle = self._pick(words.SURNAME_HEADS), self._pick(words.SURNAME_MIDDLES)
            return head + middle + self._pick(words.SURNAME_TAILS)

        return self._fresh(draw)

    def person(self) -> Person:
        """A person with a unique surname."""
        woman = self._rng.random() < 0.5
        return Person(self._pick(words.WOMEN if woman else words.MEN), self.surname(), woman)

    def town(self) -> str:
        """A town."""
        return self._fresh(lambda: self._pick(words.TOWN_HEADS) + self._pick(words.TOWN_TAILS))

    def brand(self) -> str:
        """A brand or company."""
        return self._fresh(
            lambda: (
                self._pick(words.BRAND_HEADS)
                + self._pick(words.BRAND_MIDDLES)
                + self._pick(words.BRAND_TAILS)
            )
        )

    def title(self) -> str:
        """A title for a book, a painting or a game."""
        return self._fresh(self._title)

    def _title(self) -> str:
        adjective, noun = self._pick(words.ADJECTIVES).title(), self._pick(words.NOUNS).title()
        plural, gerund = self._pick(words.PLURALS).title(), self._pick(words.GERUNDS).title()
        return self._pick(
            (
                f"The {adjective} {noun}",
                f"The {noun} of {adjective} {plural}",
                f"{gerund} the {noun}",
                f"{adjective} {plural}",
                f"The {noun}'s {plural}",
                f"Beneath the {adjective} {noun}",
                f"{'An' if noun[0] in 'AEIOU' else 'A'} {noun} for " + self._pick(words.WOMEN + words.MEN),
                f"{plural} and {self._pick(words.PLURALS).title()}",
            )
        )

    def model_family(self) -> str:
        """The letters of a model number, such as KR; models add digits."""
        letters = "ABCDEFGHKLMNPRSTVWX"
        return self._fresh(lambda: self._pick(tuple(letters)) + self._pick(tuple(letters)) + "-")

    def model(self, family: str) -> str:
        """A model number of that family, such as KR-420."""
        return self._fresh(lambda: f"{family}{self._rng.randrange(11, 99) * 10}")

    def from_patterns(self, *draws: Callable[[], str]) -> str:
        """Any other unique name, drawn from the given makers."""
        return self._fresh(lambda: self._rng.choice(draws)())
