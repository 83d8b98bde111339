"""Exercises on a sheet: finds the one that is asked and works it out."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt

from gateway.reasoning.extractive.composing import finish, number_text
from gateway.reasoning.extractive.lexical import fold
from gateway.reasoning.extractive.lookup import Finding, photo_quotes
from gateway.reasoning.extractive.question import Analysis
from gateway.reasoning.extractive.values import NUMBER_WORDS, Kind, Value, find_values
from gateway.state import PhotoText

_ORDINALS = {
    w: i + 1
    for i, w in enumerate(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
    )
}
_ITEM = re.compile(
    (
        r"^\s*\(?(?:(?:no\.?|nr\.?|question|problem|exercise|task|q)\s*)?(?P<n>\d{1,2}|[a-h])\s*(?:[).:]|"
        r"\s-\s)\s*(?P<rest>\S.*)$"
    ),
    re.I,
)
_ASKED = re.compile(
    r"\b(?:question|problem|exercise|number|item|task|equation|sum|nr|no|part|line|one|"
    r"#)\.?\s*(?:number\s*)?(?P<n>\d{1,2}|[a-h]\b|one|two|three|four|five|six|seven|eight|nine|"
    r"ten)\b"
    r"|\b(?P<o>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last)\b|#\s?(?P<h>\d{1,2})"
)


@dataclass(frozen=True, slots=True)
class Exercise:
    """A numbered exercise with the lines that it stands on."""

    label: str
    text: str
    lines: tuple[str, ...]
    score: float


def exercises(photo_text: PhotoText) -> list[Exercise]:
    """The sheet cut at its numbers; lines without a number belong to the exercise above."""
    found: list[Exercise] = []
    for line in photo_text.lines:
        match = _ITEM.match(line.text)
        if match:
            found.append(Exercise(match["n"].lower(), match["rest"], (line.text,), line.score))
        elif found:
            last = found[-1]
            found[-1] = Exercise(
                last.label, f"{last.text} {line.text}", (*last.lines, line.text), min(last.score, line.score)
            )
    return found


def answer_from_sheet(analysis: Analysis, photo_text: PhotoText) -> Finding | None:
    """The worked-out answer to the asked exercise, or to a calculation in the question itself."""
    listed = exercises(photo_text)
    wanted = _wanted(fold(analysis.text), listed)
    if wanted is None:
        return None
    solved = solve(wanted.text)
    if solved is None:
        return None
    where = f"number {wanted.label}" if wanted.label else "it"
    text = f"The answer to {where} is {solved}"
    return Finding(finish(text), round(0.9 * wanted.score, 3), photo_quotes(wanted.lines, photo_text), solved)


def _wanted(folded: str, listed: Sequence[Exercise]) -> Exercise | None:
    match = _ASKED.search(folded)
    if match is None:
        return listed[0] if len(listed) == 1 else None
    if match["o"] == "last":
        return listed[-1] if listed else None
    said = match["n"] or match["h"] or ""
    label = (
        str(_ORDINALS[match["o"]])
        if match["o"]
        else str(int(NUMBER_WORDS[said]))
        if said in NUMBER_WORDS
        else said
    )
    return next((e for e in listed if e.label == label), None)


_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "—": "-", ":": "/", "²": "^2", "³": "^3"}
)
_EXPRESSION = re.compile(r"^[\s\d.,+*/()^x-]+$")


def solve(text: str) -> str | None:
    """The answer with its unit, or None when the exercise is not understood."""
    plain = text.translate(_SIGNS).strip()
    plain = re.sub(
        r"^(?:calculate|compute|work out|solve|evaluate|simplify|find|what is)\s*:?\s*", "", plain, flags=re.I
    )
    equation = _equation(plain)
    if equation is not None:
        return equation
    left = plain.split("=")[0].strip().rstrip("?")
    left = re.sub(r"(?<=[\d)])\s*[xX]\s*(?=[\d(])", "*", left)
    if re.fullmatch(r"\d+/\d+", left):
        return None  # a lone fraction is a misread sum, not a task
    if _EXPRESSION.match(left) and re.search(r"[+*/^-]", left):
        value = evaluate(left)
        return _shown(value, fractional="/" in left) if value is not None else None
    percent = re.search(r"(\d+(?:[.,]\d+)?)\s?%\s+of\s+(\d+(?:[.,]\d+)?)", plain)
    if percent:
        return _shown(Fraction(percent[1].replace(",", ".")) * Fraction(percent[2].replace(",", ".")) / 100)
    return word_problem(text)


def _shown(value: Fraction, *, fractional: bool = False) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    if fractional:
        decimal = float(value)
        return f"{value.numerator}/{value.denominator}" + (
            f" ({number_text(decimal)})" if round(decimal, 4) == decimal else ""
        )
    return number_text(float(value))


def evaluate(expression: str) -> Fraction | None:
    """Exact value of `+ - * / ^ ( )` over numbers; None for anything else. Never uses `eval`."""
    tokens = re.findall(r"\d+(?:[.,]\d+)?|[-+*/^()]", expression)
    if not tokens or len(tokens) > 60:
        return None
    parser = _Arithmetic(tokens)
    try:
        value = parser.total()
    except (ValueError, ZeroDivisionError):
        return None
    return value if parser.done else None


class _Arithmetic:
    """Recursive descent over tokens: sums of products of powers of atoms. Raises `ValueError` on nonsense."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._position = 0

    @property
    def done(self) -> bool:
        return self._position >= len(self._tokens)

    def total(self) -> Fraction:
        value = self._product()
        while self._peek() in ("+", "-"):
            value = value + self._product() if self._take() == "+" else value - self._product()
        return value

    def _peek(self) -> str:
        return "" if self.done else self._tokens[self._position]

    def _take(self) -> str:
        token = self._peek()
        self._position += 1
        return token

    def _product(self) -> Fraction:
        value = self._power()
        while self._peek() in ("*", "/"):
            value = value * self._power() if self._take() == "*" else value / self._power()
        return value

    def _power(self) -> Fraction:
        base = self._atom()
        if self._peek() != "^":
            return base
        self._take()
        exponent = self._atom()
        if exponent.denominator != 1 or abs(exponent) > 12:
            raise ValueError("exponent out of range")
        return Fraction(base ** int(exponent))

    def _atom(self) -> Fraction:
        token = self._take()
        if token == "-":
            return -self._atom()
        if token != "(":
            return Fraction(token.replace(",", "."))
        value = self.total()
        if self._take() != ")":
            raise ValueError("unbalanced bracket")
        return value


def _equation(text: str) -> str | None:
    """A linear equation in one unknown, by its value at 0 and 1."""
    match = re.search(r"([^=]*\b\d*\s*[a-z]\b[^=]*)=([^=]+)$", text.strip().rstrip(".?"), re.I)
    unknowns = set(re.findall(r"(?<![a-z])([a-z])(?![a-z])", match.group(), re.I)) if match else set()
    if match is None or len(unknowns) != 1:
        return None
    name = unknowns.pop()

    def at(value: int) -> Fraction | None:
        sides = [re.sub(rf"(?<=[\d)])\s*{name}", f"*({value})", side) for side in match.groups()]
        sides = [re.sub(rf"(?<![a-z]){name}(?![a-z])", f"({value})", side) for side in sides]
        if not all(_EXPRESSION.match(side) for side in sides):
            return None
        left, right = (evaluate(side) for side in sides)
        return None if left is None or right is None else left - right

    zero, one = at(0), at(1)
    if zero is None or one is None or zero == one:
        return None
    return f"{name} = {_shown(zero / (zero - one), fractional=True)}"


def word_problem(text: str) -> str | None:
    """Short problems of school geometry and physics with all numbers given."""
    folded = fold(text.replace("²", "^2"))
    folded = re.sub(r"m/s\^?2\b", "m/s2", folded)
    sizes = list(find_values(re.sub(r"(\d)([a-z])", r"\1 \2", folded), Kind.QUANTITY))
    for asks, formula in _FORMULAS:
        if re.search(asks, folded):
            solved = formula(folded, sizes)
            if solved is not None:
                return solved
    return None


def _numbers(folded: str) -> list[float]:
    return [float(n.replace(",", ".")) for n in re.findall(r"(?<![\w.^])\d+(?:[.,]\d+)?", folded)]


def _lengths(sizes: Sequence[Value]) -> tuple[list[float], str]:
    found = [v for v in sizes if v.dimension == "length" and v.number is not None]
    units = {v.unit for v in found}
    return ([v.number for v in found if v.number is not None], units.pop() if len(units) == 1 else "")


def _area(folded: str, sizes: Sequence[Value]) -> str | None:
    lengths, unit = _lengths(sizes)
    if not unit or not lengths:
        return None
    if "triangle" in folded and len(lengths) == 2:
        return f"{number_text(lengths[0] * lengths[1] / 2)} {unit}²"
    if "circle" in folded:
        radius = lengths[0] / 2 if "diameter" in folded else lengths[0]
        return f"{number_text(round(pi * radius**2, 2))} {unit}²"
    if "square" in folded and len(lengths) == 1:
        return f"{number_text(lengths[0] ** 2)} {unit}²"
    return f"{number_text(lengths[0] * lengths[1])} {unit}²" if len(lengths) == 2 else None


def _perimeter(folded: str, sizes: Sequence[Value]) -> str | None:
    lengths, unit = _lengths(sizes)
    if not unit or not lengths:
        return None
    if "circle" in folded:
        factor = pi if "diameter" in folded else 2 * pi
        return f"{number_text(round(factor * lengths[0], 2))} {unit}"
    if "square" in folded and len(lengths) == 1:
        return f"{number_text(4 * lengths[0])} {unit}"
    if "triangle" in folded:
        sides = lengths * 3 if "equilateral" in folded and len(lengths) == 1 else lengths
        return f"{number_text(sum(sides))} {unit}" if len(sides) == 3 else None
    return f"{number_text(2 * sum(lengths))} {unit}" if len(lengths) == 2 else None


def _volume(folded: str, sizes: Sequence[Value]) -> str | None:
    lengths, unit = _lengths(sizes)
    if "cube" in folded and len(lengths) == 1:
        lengths = lengths * 3
    if len(lengths) != 3 or not unit:
        return None
    return f"{number_text(lengths[0] * lengths[1] * lengths[2])} {unit}³"


def _hypotenuse(folded: str, sizes: Sequence[Value]) -> str | None:
    lengths, unit = _lengths(sizes)
    return (
        f"{number_text(sqrt(lengths[0] ** 2 + lengths[1] ** 2))} {unit}"
        if len(lengths) == 2 and unit
        else None
    )


def _pick(folded: str, unit: str) -> float | None:
    match = re.search(rf"(\d+(?:[.,]\d+)?)\s?(?:{unit})(?![\w/])", folded)
    return float(match.group(1).replace(",", ".")) if match else None


_KM, _M, _H, _S = r"km|kilomet(?:re|er)s?", r"m|met(?:re|er)s?", r"h|hours?|hrs?", r"s|sec(?:ond)?s?"


def _speed(folded: str, sizes: Sequence[Value]) -> str | None:
    for far, long, unit in ((_KM, _H, "km/h"), (_M, _S, "m/s"), ("miles?", _H, "mph")):
        distance, time = _pick(folded, far), _pick(folded, long)
        if distance is not None and time:
            return f"{number_text(distance / time)} {unit}"
    return None


def _distance(folded: str, sizes: Sequence[Value]) -> str | None:
    for rate, long, unit in ((r"km/h|km per hour|kph", _H, "km"), (r"m/s", _S, "m")):
        speed, time = _pick(folded, rate), _pick(folded, long)
        if speed is not None and time is not None:
            return f"{number_text(speed * time)} {unit}"
    return None


def _product(first: str, second: str, unit: str) -> Callable[[str, Sequence[Value]], str | None]:
    def work(folded: str, sizes: Sequence[Value]) -> str | None:
        a, b = _pick(folded, first), _pick(folded, second)
        return f"{number_text(a * b)} {unit}" if a is not None and b is not None else None

    return work


def _quotient(first: str, second: str, unit: str) -> Callable[[str, Sequence[Value]], str | None]:
    def work(folded: str, sizes: Sequence[Value]) -> str | None:
        a, b = _pick(folded, first), _pick(folded, second)
        return f"{number_text(a / b)} {unit}" if a is not None and b else None

    return work


def _average(folded: str, sizes: Sequence[Value]) -> str | None:
    numbers = _numbers(folded)
    return number_text(sum(numbers) / len(numbers)) if len(numbers) > 1 else None


_VOLT, _AMP, _OHM, _KG, _N = r"v|volts?", r"a|amps?|amperes?", r"Ω|ohms?|ω", r"kg|kilograms?", r"n|newtons?"
_FORMULAS: tuple[tuple[str, Callable[[str, Sequence[Value]], str | None]], ...] = (
    (r"\bperimeter\b|\bcircumference\b", _perimeter),
    (r"\bhypotenuse\b", _hypotenuse),
    (r"\barea\b", _area),
    (r"\bvolume\b", _volume),
    (r"\b(?:average )?speed\b.*\?|\bhow fast\b|\bfind the (?:average )?speed\b", _speed),
    (r"\bhow far\b|\bdistance\b", _distance),
    (r"\bforce\b", _product(_KG, r"m/s2|m/s\^2", "N")),
    (r"\bacceleration\b", _quotient(_N, _KG, "m/s²")),
    (r"\bresistance\b", _quotient(_VOLT, _AMP, "Ω")),
    (r"\bvoltage\b", _product(_AMP, _OHM, "V")),
    (r"\bcurrent\b", _quotient(_VOLT, _OHM, "A")),
    (r"\bpower\b", _product(_VOLT, _AMP, "W")),
    (r"\bwork\b|\benergy\b", _product(_N, _M, "J")),
    (r"\bdensity\b", _quotient(_KG, r"m\^?3|m³|cubic met(?:re|er)s?", "kg/m³")),
    (r"\b(?:average|mean)\b", _average),
)
