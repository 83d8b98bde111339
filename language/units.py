"""Units of measure and money, and what each is worth in the base unit of its dimension."""

from collections.abc import Iterator
from dataclasses import dataclass

# dimension, worth in the dimension's base unit, symbols, names, prefixes that the symbols and names may have.
# "_" is a space. Gallons, pints and tons are the American ones, and a calorie is a food's.
_TABLE = """
length: 1 m metre,meter n,µ,m,c,k; 0.0254 in,″,ins inch,inches; 0.3048 ft,′ foot,feet; 0.9144 yd,yds yard;
    1609.344 mi mile; 1852 nmi nautical_mile; 9.4607e15 ly light_year
mass: 0.001 g gram,gramme µ,m,k; 0.001 gr -; 1e-9 mcg -; 1 - kilo; 1000 t tonne,metric_ton; 907.18474 - ton;
    0.45359237 lb,lbs pound; 0.028349523125 oz ounce; 6.35029318 - stone; 0.0002 ct carat
time: 1 s,sec,secs second n,µ,m; 60 min,mins minute; 3600 h,hr,hrs hour; 86400 - day; 604800 - week;
    2629800 - month; 31557600 yr,yrs year; 315576000 - decade; 3155760000 - century,centuries
area: 10000 ha hectare; 4046.8564224 - acre
volume: 1 l,L litre,liter m,c,d; 0.001 cc -; 0.473176473 - pint; 0.946352946 - quart; 3.785411784 gal gallon;
    0.0295735295625 fl_oz fluid_ounce; 0.01478676478125 tbsp tablespoon; 0.00492892159375 tsp teaspoon;
    158.987294928 bbl barrel
temperature: 1 K kelvin;
    1 °C,ºC celsius,degree_celsius,degrees_celsius,degree_c,degrees_c,degrees_centigrade;
    0.5555555555555556 °F,ºF fahrenheit,degree_fahrenheit,degrees_fahrenheit,degree_f,degrees_f
power: 1 W watt m,k,M,G; 745.69987158 hp,bhp,HP horsepower
energy: 1 J joule m,k,M,G; 3600 Wh watt_hour,watt-hour k,M,G,T; 4184 kcal,cal kilocalorie,calorie
charge: 3600 Ah amp_hour,amp-hour,ampere_hour m
voltage: 1 V volt m,k
current: 1 A amp,ampere m
resistance: 1 Ω,Ω ohm k,M
frequency: 1 Hz hertz k,M,G; 0.016666666666666666 rpm -
pressure: 1 Pa pascal h,k,M; 100000 bar,bars - m; 101325 atm atmosphere; 6894.757293168 psi -
force: 1 N newton k
torque: 1 Nm,N·m newton_metre,newton_meter
data: 1 - byte k,M,G,T; 1000 kB,KB -; 1e6 MB -; 1e9 GB,gigs -; 1e12 TB -; 1024 KiB kibibyte;
    1048576 MiB mebibyte; 1073741824 GiB gibibyte; 1099511627776 TiB tebibyte; 0.125 bit bit k,M,G
data/time: 125000 Mbps -; 125000000 Gbps -
length/time: 0.44704 mph -; 0.2777777777777778 kph,kmh -; 0.5144444444444445 kn,kt,kts knot
angle: 1 °,º degree
loudness: 1 dB decibel
light: 1 lm lumen
illuminance: 1 lx lux
resolution: 1 px pixel; 1e6 MP,Mpx megapixel
share: 0.01 % percent,per_cent; 0.001 ‰ -
money: EUR € euro; USD $,US$ dollar,us_dollar,buck; GBP £ pounds_sterling,pound_sterling,quid;
    GBP/100 - pence,penny,pennies; cent/100 ¢ cent; JPY ¥ yen; INR ₹ rupee; RUB ₽ rouble,ruble; KRW ₩ -;
    CAD C$,CA$ canadian_dollar; AUD A$,AU$ australian_dollar; NZD NZ$ -; CHF Fr. franc,swiss_franc;
    SEK - krona,kronor; PLN zł zloty; NOK -; DKK -; CZK -; HUF -; CNY -; TRY -; BRL R$ -; MXN -; ZAR -; ILS -;
    SGD -; HKD HK$ -
"""
_PREFIXES = {
    **{"n": ("nano", 1e-9), "µ": ("micro", 1e-6), "m": ("milli", 1e-3), "c": ("centi", 1e-2)},
    **{"d": ("deci", 0.1), "h": ("hecto", 100.0), "k": ("kilo", 1e3), "M": ("mega", 1e6)},
    **{"G": ("giga", 1e9), "T": ("tera", 1e12)},
}
_FREEZING = {"°C": 273.15, "°F": 459.67 * 5 / 9}
"""Kelvin at zero."""


@dataclass(frozen=True, slots=True)
class Unit:
    """`value` of it is `value * factor + offset` base units of its dimension."""

    name: str
    dimension: str
    factor: float
    offset: float = 0.0


def unit_named(text: str) -> Unit | None:
    """The unit that a symbol or name stands for ("km", "square miles", "km/h"); None for anything else.

    Case tells milliwatts from megawatts. Where only one unit has the letters, any case will do.
    """
    whole = _BY_SYMBOL.get(text) or _BY_NAME.get(text.lower()) or _BY_LETTERS.get(text.lower())
    if whole is not None or len(text) > 60:
        return whole
    over, between, under = text.partition("/") if "/" in text else text.partition(" per ")
    top, bottom = (unit_named(over), unit_named(under)) if between and over and under else (None, None)
    if top is None or bottom is None or top.dimension.startswith("money"):
        return None
    name, dimension = f"{top.name}/{bottom.name}", f"{top.dimension}/{bottom.dimension}"
    return Unit(name, dimension, top.factor / bottom.factor)


_Row = tuple[Unit, list[str], list[str]]
"""A unit with its symbols and its names."""


def _rows() -> Iterator[_Row]:
    dimension = ""
    for cell in _TABLE.replace("\n    ", " ").replace("\n", ";").strip(";").split(";"):
        before, colon, row = cell.rpartition(": ")
        dimension = before if colon else dimension
        worth, *lists = row.split()
        symbols, names, prefixes = (
            [] if c == "-" else c.replace("_", " ").split(",") for c in [*lists, "-", "-"][:3]
        )
        if dimension == "money":
            code, _, parts = worth.partition("/")
            unit = Unit(names[0] if parts else code, f"money:{code}", 1 / float(parts or 1))
            yield unit, [*symbols, *([] if parts else [code])], names
            continue
        name, factor = (symbols or names)[0], float(worth)
        yield Unit(name, dimension, factor, _FREEZING.get(name, 0.0)), symbols, names
        for prefix in prefixes:
            said, times = _PREFIXES[prefix]
            unit = Unit(prefix + name if symbols else said + name, dimension, factor * times)
            yield unit, [prefix + each for each in symbols], [said + each for each in names]


def _powers(row: _Row) -> Iterator[_Row]:
    """The square and cube of a length: "km²", "km2", "sq km", "square kilometre"."""
    unit, symbols, names = row
    area = Unit(f"{unit.name}²", "area", unit.factor**2)
    volume = Unit(f"{unit.name}³", "volume", unit.factor**3 * 1000)
    for powered, said, marks, short in ((area, "square", "²2", "sq"), (volume, "cubic", "³3", "cu")):
        shorts = [f"{symbol}{mark}" for symbol in symbols for mark in marks]
        shorts += [f"{short}{gap}{symbol}" for symbol in symbols for gap in (" ", "")]
        yield powered, shorts, [f"{said} {name}" for name in names]


_BY_SYMBOL: dict[str, Unit] = {}
_BY_NAME: dict[str, Unit] = {}
_BY_LETTERS: dict[str, Unit | None] = {}
_ALL = list(_rows())
for _unit, _symbols, _names in [
    *_ALL,
    *(p for row in _ALL if row[0].dimension == "length" for p in _powers(row)),
]:
    # There are three code points for "µ".
    for _symbol in {each.replace("µ", mark) for each in _symbols for mark in "µμu"}:
        _BY_SYMBOL[_symbol] = _unit
        _same = _BY_LETTERS.setdefault(_symbol.lower(), _unit if len(_symbol) > 1 else None)
        if _same is not None and (_same.dimension, _same.factor) != (_unit.dimension, _unit.factor):
            _BY_LETTERS[_symbol.lower()] = None
    for _name in _names:
        _BY_NAME[_name] = _BY_NAME[f"{_name}s"] = _unit
