"""Units of measurement: what they measure and how large they are."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """`factor`: how many of the dimension's base unit one of these is; `offset` only for temperatures."""

    dimension: str
    factor: float = 1.0
    offset: float = 0.0

    def to_base(self, value: float) -> float:
        """The value in the base unit."""
        return value * self.factor + self.offset


_FAMILIES: dict[str, dict[str, float]] = {
    "length": {
        "mm millimetre millimeter": 0.001, "cm centimetre centimeter": 0.01, "dm": 0.1, "m metre meter": 1,
        "km kms kilometre kilometer": 1000, "in inch inche": 0.0254, "ft foot feet": 0.3048,
        "yd yard": 0.9144, "mi mile": 1609.344,
    },
    "area": {
        "mm2 sqmm": 1e-6, "cm2 sqcm": 1e-4, "m2 sqm": 1, "km2 sqkm": 1e6, "ha hectare": 1e4,
        "sqft": 0.09290304, "sqin": 0.00064516, "acre": 4046.8564,
    },
    "mass": {
        "mg milligram milligramme": 1e-6, "g gram gramme": 0.001, "kg kgs kilo kilogram kilogramme": 1,
        "t tonne": 1000, "oz ounce": 0.028349523, "lb lbs pound": 0.45359237,
    },
    "volume": {
        "ml millilitre milliliter": 0.001, "cl centilitre centiliter": 0.01, "dl decilitre deciliter": 0.1,
        "l litre liter": 1, "m3 cubicmetre cubicmeter": 1000, "cm3 cc": 0.001, "floz": 0.029573530,
        "pint": 0.473176473, "gallon": 3.785411784,
    },
    "food energy": {"kcal kilocalorie cal calorie": 1, "kj kilojoule": 0.2390057},
    "energy": {"wh watthour": 1, "kwh kilowatthour": 1000},
    "power": {"W watt": 1, "kw kilowatt": 1000},
    "duration": {
        "ms millisecond": 0.001, "s sec second": 1, "min minute": 60, "h hr hrs hour": 3600, "day": 86_400,
        "week": 604_800, "month": 2_629_800, "year yr yrs": 31_557_600,
    },
    "speed": {"km/h kmh kph": 1, "m/s": 3.6, "mph": 1.609344},
    "force": {"N newton": 1, "kn kilonewton": 1000},
    "charge": {"mah": 1, "Ah": 1000},
    "voltage": {"V volt": 1, "mv millivolt": 0.001},
    "current": {"A amp ampere": 1, "ma milliamp": 0.001},
    "frequency": {"hz hertz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
    "data": {"kb": 1e3, "mb megabyte": 1e6, "gb gigabyte": 1e9, "tb terabyte": 1e12},
    "ratio": {"% percent": 1},
    "angle": {"deg degree": 1},
    "euro": {"€ eur euro": 1, "cent": 0.01},
    "dollar": {"$ usd dollar": 1},
    "pound sterling": {"£ gbp": 1},
}  # fmt: skip
_CAPITAL = frozenset("WNVA")
"""Units that are a capital letter: in lower case they are words or other things."""

_PHRASES = {
    "kilometers per hour": "km/h", "kilometres per hour": "km/h", "kilometer per hour": "km/h",
    "kilometre per hour": "km/h", "miles per hour": "mph", "meters per second": "m/s",
    "metres per second": "m/s", "square centimetres": "cm2", "square centimeters": "cm2",
    "square metres": "m2", "square meters": "m2", "square feet": "sqft", "sq ft": "sqft",
    "square kilometres": "km2", "square kilometers": "km2", "sq cm": "cm2", "sq m": "m2", "sq in": "sqin",
    "square inches": "sqin", "cubic metres": "m3", "cubic meters": "m3", "cubic centimetres": "cm3",
    "cubic centimeters": "cm3", "fl oz": "floz", "fluid ounces": "floz", "fl. oz": "floz",
    "watt hours": "wh", "watt-hours": "wh", "watt hour": "wh", "watt-hour": "wh", "kilowatt hours": "kwh",
    "kilowatt-hours": "kwh", "per cent": "percent", "degrees celsius": "°c", "degrees fahrenheit": "°f",
    "degrees c": "°c", "degrees f": "°f", "° c": "°c", "° f": "°f", "°": "degree",
}  # fmt: skip


def _table() -> Mapping[str, Unit]:
    table = {
        name: Unit(dimension, factor)
        for dimension, family in _FAMILIES.items()
        for names, factor in family.items()
        for name in names.split()
    }
    table["°c"] = table["celsius"] = Unit("temperature")
    table["°f"] = table["fahrenheit"] = Unit("temperature", 5 / 9, -160 / 9)
    return table


UNITS: Mapping[str, Unit] = _table()
PHRASES: Mapping[str, str] = _PHRASES


def unit_named(name: str) -> Unit | None:
    """The unit of that name or sign, singular or plural; None for anything else, such as `pages`."""
    if name in _CAPITAL:
        return UNITS[name]
    plain = unicodedata.normalize("NFKC", name).lower()
    plain = PHRASES.get(plain, plain)
    if plain.upper() in _CAPITAL:
        return None
    return UNITS.get(plain) or UNITS.get(name) or (UNITS.get(plain[:-1]) if _plural(plain) else None)


def _plural(word: str) -> bool:
    return len(word) > 3 and word.endswith("s")
