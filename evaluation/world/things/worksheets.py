"""School worksheets: every answer follows from what is printed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from evaluation.world.model import Fact, Printed, Thing
from evaluation.world.things.builder import Builder, printed
from evaluation.world.values import AnswerType, Value, measure


@dataclass(frozen=True)
class Problem:
    """What is printed and what comes out."""

    text: str
    answer: Value


def _plain(n: int) -> Value:
    return Value(str(n), AnswerType.NUMBER, (str(n), f"{n:,}"), n, "")


def _fraction(f: Fraction) -> Value:
    text = str(f)
    accepted = (text, f"{float(f):g}") if f.denominator in (2, 4, 5, 8, 10) else (text,)
    return Value(text, AnswerType.NUMBER, accepted, round(float(f), 4), "")


def _addition(rng: random.Random) -> Problem:
    a, b = rng.randint(120, 980), rng.randint(120, 980)
    return Problem(f"{a} + {b} =", _plain(a + b))


def _subtraction(rng: random.Random) -> Problem:
    a, b = rng.randint(500, 999), rng.randint(100, 480)
    return Problem(f"{a} - {b} =", _plain(a - b))


def _product(rng: random.Random) -> Problem:
    a, b = rng.randint(12, 49), rng.randint(3, 19)
    return Problem(f"{a} x {b} =", _plain(a * b))


def _sum_of_fractions(rng: random.Random) -> Problem:
    a, b = Fraction(rng.randint(1, 3), 4), Fraction(rng.randint(1, 7), 8)
    return Problem(f"{a} + {b} =", _fraction(a + b))


def _rectangle(rng: random.Random) -> Problem:
    a, b = rng.randint(4, 25), rng.randint(4, 25)
    text = f"A rectangle is {a} cm long and {b} cm wide. What is its area?"
    units = ("cm²", "cm2", "square centimetres")
    return Problem(text, measure(a * b, "cm²", other_units=units))


def _speed(rng: random.Random) -> Problem:
    hours, speed = rng.randint(2, 6), rng.randint(8, 24) * 5
    text = f"A train travels {hours * speed} km in {hours} hours. What is its average speed?"
    return Problem(text, measure(speed, "km/h", other_units=("kilometres per hour",)))


def _perimeter(rng: random.Random) -> Problem:
    side = rng.randint(6, 38)
    text = f"A square has sides of {side} cm. How long is its perimeter?"
    return Problem(text, measure(4 * side, "cm"))


def _force(rng: random.Random) -> Problem:
    mass, acceleration = rng.randint(2, 30), rng.randint(2, 9)
    text = f"A mass of {mass} kg accelerates at {acceleration} m/s². Find the force."
    return Problem(text, measure(mass * acceleration, "N", other_units=("newtons", "newton")))


_SHORT: tuple[Callable[[random.Random], Problem], ...] = (
    _addition,
    _subtraction,
    _product,
    _sum_of_fractions,
)
_LONG: tuple[Callable[[random.Random], Problem], ...] = (_rectangle, _speed, _perimeter, _force)


def add_worksheets(b: Builder) -> None:
    """One sheet of six numbered problems."""
    rng = b.rng
    key = b.key("worksheet")
    makers = [*(rng.choice(_SHORT) for _ in range(4)), *rng.sample(_LONG, 2)]
    problems = [make(rng) for make in makers]
    title = b.names.from_patterns(
        lambda: f"{rng.choice(('Practice', 'Homework', 'Exercise'))} sheet {rng.randint(100, 999)}"
    )
    facts: dict[str, Fact] = {
        f"problem {n}": printed(f"problem {n}", problem.answer) for n, problem in enumerate(problems, 1)
    }
    rows = tuple(Printed(problem.text, str(n)) for n, problem in enumerate(problems, 1))
    b.put(Thing(key, "worksheet", title, "worksheet", key, facts, {}, rows, photographed=True))
