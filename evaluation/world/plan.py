"""What to generate: the splits, their seeds and sizes, and seeded random streams."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np


class Split(StrEnum):
    """The fixed worlds. Names never repeat between splits, whatever the seeds.

    Nor do the words around them (`evaluation.world.text`), but that sample speaks as dev does.
    """

    DEV = "dev"
    TEST = "test"
    SAMPLE = "sample"
    WILD = "wild"


@dataclass(frozen=True)
class Plan:
    """Sizes and seed of one world.

    `entities` counts photographed things; `pages` is how many pages there are, unless the questions need
    more than a third of that; None keeps all.
    """

    split: Split
    seed: int
    entities: int
    questions: int
    conversations: int
    pages: int | None

    @property
    def partition(self) -> int:
        """Which part of the name space this split may use."""
        return list(Split).index(self.split)

    def stream(self, *path: object) -> random.Random:
        """A random stream of its own for one purpose, so that adding a draw elsewhere moves nothing here."""
        return random.Random("/".join(map(str, (self.split, self.seed, *path))))

    def noise(self, *path: object) -> np.random.Generator:
        """The numpy twin of `stream`, for pixels."""
        return np.random.default_rng(self.stream("noise", *path).getrandbits(64))


_PLANS = {
    Split.DEV: Plan(Split.DEV, 20261, entities=130, questions=170, conversations=34, pages=None),
    Split.TEST: Plan(Split.TEST, 70412, entities=130, questions=170, conversations=34, pages=None),
    Split.WILD: Plan(Split.WILD, 58939, entities=130, questions=170, conversations=34, pages=None),
    Split.SAMPLE: Plan(Split.SAMPLE, 1, entities=40, questions=20, conversations=4, pages=75),
}


def plan_for(split: Split, seed: int | None = None, entities: int | None = None) -> Plan:
    """The plan of a split, with another seed or number of things if asked.

    Raises ValueError for fewer than 12 entities: below that some kinds of question have no subject.
    """
    plan = _PLANS[split]
    if entities is not None and entities < 12:
        raise ValueError("a world needs at least 12 entities")
    return replace(
        plan,
        seed=plan.seed if seed is None else seed,
        entities=plan.entities if entities is None else entities,
    )
