"""The pictures that training looks at: things and places, each with a catalogue picture and other photos."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from services.image_search.classical.features import RGB
from services.image_search.training.camera import CATALOGUE, WEARER, photograph
from services.image_search.training.designs import Design, Kind, draw
from services.image_search.training.places import Place, visit


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """`thing` names what is seen, `family` what it has its look from, `print_run` what shares printed
    matter with it; `catalogue` pictures get indexed.
    """

    thing: str
    family: str
    print_run: str
    catalogue: bool
    photo: RGB


def album(seed: int, families: int) -> Iterator[Picture]:
    """Pictures of `families` families: one to three siblings each, every fifth family a place."""
    for family in range(families):
        rng = np.random.default_rng([seed, family])
        base = int(rng.integers(2**31))
        if family % 5 == 4:
            yield from _places(rng, base, f"place-{family}")
        else:
            kind = list(Kind)[(family * 4 // 5) % len(Kind)]
            yield from _things(rng, kind, base, f"{kind.value}-{family}")


def catalogue(seed: int, count: int) -> Iterator[Picture]:
    """Only catalogue pictures, of `count` unrelated things: what fills an index."""
    kinds = list(Kind)
    for number in range(count):
        rng = np.random.default_rng([seed, number, 3])
        if number % 6 == 5:
            place = Place(int(rng.integers(2**31)), 0)
            name = f"place-{number}"
            yield Picture(name, name, name, True, visit(rng, place, 640))
            continue
        kind = kinds[number % len(kinds)]
        drawn = draw(Design(kind, int(rng.integers(2**31)), 0))
        name = f"{kind.value}-{number}"
        yield Picture(name, name, name, True, photograph(rng, drawn, CATALOGUE, 640))


def _things(rng: np.random.Generator, kind: Kind, base: int, family: str) -> Iterator[Picture]:
    designs = [Design(kind, base, 0), Design(kind, base, 1)]
    if kind is Kind.SIGN:
        designs.append(Design(kind, base, 0, shuffled=True))
    for number, design in enumerate(designs):
        drawn = draw(design)
        name = f"{family}-{number}"
        print_run = f"{family}-{design.content}" if kind is Kind.SIGN else family
        yield Picture(name, family, print_run, True, photograph(rng, drawn, CATALOGUE, 640))
        for _ in range(2 if number == 0 else 1):
            yield Picture(name, family, print_run, False, photograph(rng, drawn, WEARER))


def _places(rng: np.random.Generator, base: int, family: str) -> Iterator[Picture]:
    for own in range(2):
        place = Place(base, own)
        name = f"{family}-{own}"
        yield Picture(name, family, name, True, visit(rng, place))
        for _ in range(2):
            yield Picture(name, family, name, False, visit(rng, place))
