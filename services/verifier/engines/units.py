"""Units of measure: dimension and factor to the dimension's base unit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """`value * factor + offset` is the value in the dimension's base unit."""

    dimension: str
    factor: float = 1.0
    offset: float = 0.0


def _table() -> dict[str, tuple[Unit, ...]]:
    table: dict[str, tuple[Unit, ...]] = {}
    for names, dimension, factor in _ROWS:
        for name in names.split():
            unit = Unit(dimension, factor)
            table[name.replace("_", " ")] = (*table.get(name.replace("_", " "), ()), unit)
    for name in ("°F", "degrees Fahrenheit", "Fahrenheit"):
        table[name] = (Unit("temperature", 5 / 9, -160 / 9),)
    return table


_ROWS: tuple[tuple[str, str, float], ...] = (
    ("mm millimetre millimetres millimeter millimeters", "length", 0.001),
    ("cm centimetre centimetres centimeter centimeters", "length", 0.01),
    ("m metre metres meter meters", "length", 1.0),
    ("km kilometre kilometres kilometer kilometers", "length", 1000.0),
    ("inch inches ″", "length", 0.0254),
    ("ft foot feet", "length", 0.3048),
    ("yd yard yards", "length", 0.9144),
    ("mi mile miles", "length", 1609.344),
    ("mg milligram milligrams", "mass", 1e-6),
    ("g gram grams gramme grammes", "mass", 0.001),
    ("kg kilo kilos kilogram kilograms", "mass", 1.0),
    ("t tonne tonnes", "mass", 1000.0),
    ("oz ounce ounces", "mass", 0.028349523),
    ("lb lbs pound pounds", "mass", 0.45359237),
    ("ml mL millilitre millilitres milliliter milliliters", "volume", 0.001),
    ("cl cL centilitre centilitres", "volume", 0.01),
    ("dl decilitre decilitres", "volume", 0.1),
    ("l L litre litres liter liters", "volume", 1.0),
    ("gal gallon gallons", "volume", 3.785411784),
    ("second seconds sec secs", "duration", 1.0),
    ("minute minutes min mins", "duration", 60.0),
    ("h hr hrs hour hours", "duration", 3600.0),
    ("day days", "duration", 86400.0),
    ("week weeks", "duration", 604800.0),
    ("month months", "duration", 2629800.0),
    ("year years yr yrs year-old years_old", "duration", 31557600.0),
    ("decade decades", "duration", 315576000.0),
    ("m² m2 sqm square_metres square_meters", "area", 1.0),
    ("km² km2 square_kilometres square_kilometers", "area", 1e6),
    ("ha hectare hectares", "area", 1e4),
    ("acre acres", "area", 4046.8564),
    ("cm² cm2 square_centimetres", "area", 1e-4),
    ("km/h kmh kph kilometres_per_hour", "speed", 1 / 3.6),
    ("m/s metres_per_second", "speed", 1.0),
    ("mph miles_per_hour", "speed", 0.44704),
    ("J joule joules", "energy", 1.0),
    ("kJ kj kilojoule kilojoules", "energy", 1000.0),
    ("kcal kilocalorie kilocalories calorie calories cal Cal", "energy", 4184.0),
    ("Wh watt-hours", "energy", 3600.0),
    ("kWh kilowatt-hours", "energy", 3.6e6),
    ("W watt watts", "power", 1.0),
    ("kW kilowatt kilowatts", "power", 1000.0),
    ("hp PS horsepower", "power", 745.7),
    ("V volt volts", "voltage", 1.0),
    ("A amp amps ampere amperes", "current", 1.0),
    ("mAh milliamp-hours", "charge", 1.0),
    ("Ω ohm ohms", "resistance", 1.0),
    ("N newton newtons", "force", 1.0),
    ("Hz hertz", "frequency", 1.0),
    ("kHz kilohertz", "frequency", 1e3),
    ("MHz megahertz", "frequency", 1e6),
    ("GHz gigahertz", "frequency", 1e9),
    ("KB kilobytes", "data", 1e3),
    ("MB megabyte megabytes", "data", 1e6),
    ("GB gigabyte gigabytes", "data", 1e9),
    ("TB terabyte terabytes", "data", 1e12),
    ("MP megapixel megapixels", "pixels", 1.0),
    ("dB decibel decibels", "loudness", 1.0),
    ("°C Celsius degrees_Celsius", "temperature", 1.0),
    ("% percent per_cent", "percent", 1.0),
    ("€ EUR euro euros Euro Euros", "money EUR", 1.0),
    ("$ USD US$ dollar dollars", "money USD", 1.0),
    ("£ GBP pound pounds", "money GBP", 1.0),
    ("¥ JPY yen", "money JPY", 1.0),
    ("CHF francs", "money CHF", 1.0),
    ("cents cent", "money EUR", 0.01),
    ("cents cent", "money USD", 0.01),
    ("p pence", "money GBP", 0.01),
)

UNITS: dict[str, tuple[Unit, ...]] = _table()
"""Every spelling; several units where a word is ambiguous ("pounds")."""

PREFIX_CURRENCIES = ("US$", "€", "$", "£", "¥", "EUR", "USD", "GBP", "CHF")
