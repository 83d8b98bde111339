"""Units of measure and their size in a base unit, so that quantities in different spellings compare."""

from dataclasses import dataclass

_TABLE: dict[str, str] = {
    "mass": "1 g gram grams gramme grammes gr|1000 kg kgs kilo kilos kilogram kilograms|"
    "0.001 mg milligram milligrams"
    "|0.000001 µg mcg microgram micrograms|28.3495 oz ounce ounces|453.592 lb lbs pound-mass pounds-mass"
    "|1000000 t tonne tonnes metric-ton ton tons|6350.29 stone",
    "length": "1 m metre metres meter meters|0.01 cm centimetre centimetres centimeter centimeters"
    "|0.001 mm millimetre millimetres millimeter millimeters|"
    "1000 km kilometre kilometres kilometer kilometers"
    "|0.0254 in inch inches ″|0.3048 ft foot feet ′|0.9144 yd yard yards|1609.344 mi mile miles",
    "area": "1 m² m2 sqm square-metre square-metres square-meter square-meters|"
    "1000000 km² km2 square-kilometres "
    "square-kilometers|10000 ha hectare hectares|4046.86 acre acres|0.092903 sqft square-feet ft²|"
    "2589988 square-miles",
    "volume": "1 l litre litres liter liters|0.001 ml millilitre millilitres milliliter milliliters cc|"
    "0.01 cl centilitre centilitres"
    "|0.1 dl|0.0295735 fl-oz fluid-ounce fluid-ounces|0.473176 pint pints pt|"
    "3.78541 gallon gallons gal|0.946353 quart quarts"
    "|0.24 cup cups|0.015 tablespoon tablespoons tbsp|0.005 teaspoon teaspoons tsp|1000 m³ m3",
    "energy": "1 kcal kcals calorie calories cal cals kilocalories kilocalorie|"
    "0.239006 kj kilojoule kilojoules|0.000239006 j joule joules|860.421 kwh kilowatt-hours"
    "|0.860421 wh watt-hours watt-hour",
    "power": (
        "1 w watt watts|1000 kw kilowatt kilowatts|745.7 hp bhp horsepower|735.5 ps|"
        "1000000 mw megawatt megawatts"
    ),
    "time": "1 s sec secs second seconds|60 min mins minute minutes|3600 h hr hrs hour hours|"
    "86400 day days|604800 week weeks"
    "|2629800 month months|31557600 year years yrs yr|0.001 ms millisecond milliseconds",
    "speed": "1 km/h kmh kph|1.60934 mph|3.6 m/s|1.852 knots knot kn",
    "data": (
        "1 mb megabyte megabytes|1024 gb gigabyte gigabytes|1048576 tb terabyte terabytes|"
        "0.001 kb kilobyte kilobytes"
    ),
    "frequency": "1 hz hertz|1000 khz kilohertz|1000000 mhz megahertz|1000000000 ghz gigahertz",
    "voltage": "1 v volt volts|1000 kv",
    "current": "1 a amp amps ampere amperes|0.001 ma",
    "charge": "1 mah milliamp-hours|1000 ah",
    "resolution": "1 mp megapixel megapixels|0.000001 pixels px",
    "loudness": "1 db decibel decibels",
    "temperature": "1 °c celsius degrees-celsius|1 °f fahrenheit",
    "angle": "1 ° degree degrees",
    "pressure": "1 bar bars|0.0689476 psi",
    "force": "1 n newton newtons|1000 kn",
    "torque": "1 nm newton-metres newton-meters",
    "flow": "1 lumens lumen lm",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: `factor` base units of its `dimension`."""

    name: str
    dimension: str
    factor: float


def _build() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for dimension, rows in _TABLE.items():
        for row in rows.split("|"):
            factor, *names = row.split()
            for name in names:
                units.setdefault(name.replace("-", " "), Unit(names[0], dimension, float(factor)))
    return units


UNITS = _build()


def unit_named(text: str) -> Unit | None:
    """The unit that a word or symbol names, whatever its case; None for anything else."""
    key = " ".join(text.strip().rstrip(".").lower().replace("-", " ").split())
    return UNITS.get(key)
