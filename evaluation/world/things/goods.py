"""Packaged food and drink, seed packets and small electronics."""

from __future__ import annotations

from evaluation.world import wordstock as words
from evaluation.world.model import Printed, Thing
from evaluation.world.things.actors import add_company, add_person, person_value
from evaluation.world.things.builder import Builder, Exposure, boxed, described, printed, web
from evaluation.world.values import (
    count,
    measure,
    money,
    name,
    phrase,
    several,
    year,
)


def _exposed(exposure: Exposure) -> tuple[bool, bool, bool]:
    return exposure.photographed, exposure.catalogued, exposure.documented


def add_foods(b: Builder) -> None:
    """A food brand with one to three flavours of one product."""
    rng = b.rng
    brand = add_company(b, "food maker")
    drink = b.chance(0.35)
    product = rng.choice(words.DRINKS if drink else words.FOODS)
    style = b.key("foodstyle")
    for n, flavour in enumerate(rng.sample(words.FLAVOURS, rng.choice((1, 2, 2, 3)))):
        exposure = b.main_exposure() if n == 0 else b.sibling_exposure()
        _add_food(b, exposure, brand, product, flavour, drink, style)


def _add_food(
    b: Builder,
    exposure: Exposure,
    brand: Thing,
    product: str,
    flavour: str,
    drink: bool,
    style: str,
) -> None:
    rng = b.rng
    key = b.key("food")
    full = f"{brand.name} {flavour.title()} {product.title()}".replace(" And ", " and ")
    net = rng.choice((80, 90, 250, 330, 500, 750)) if drink else rng.randint(6, 40) * 25
    kcal = rng.randint(18, 62) if drink else rng.randint(180, 560)
    calories = measure(kcal, "kcal", other_units=("calories", "kilocalories"))
    label = b.chance(0.45)
    facts = b.facts(
        exposure,
        printed("brand", name(brand.name), box=True),
        printed("product", phrase(product, full)),
        printed("flavour", phrase(flavour)),
        printed("net content", measure(net, "ml" if drink else "g")),
        printed("calories", calories, box=True) if label else boxed("calories", calories),
        boxed("sugar", measure(rng.randint(2, 340) / 10, "g")),
        boxed("country of origin", name(rng.choice(words.COUNTRIES))),
        boxed("introduced", year(b.year(1962, 2023))),
        web("allergens", several(tuple(sorted(rng.sample(words.ALLERGENS, rng.choice((1, 2, 2, 3)))))))
        if b.chance(0.8)
        else None,
        web("factory town", name(b.names.town())),
        web("shelf life", count(rng.choice((4, 6, 9, 12, 15, 18, 24)), "months")),
        b.maybe(0.35, lambda: web("packaging designer", person_value(b.names.person()))),
    )  # fmt: skip
    if exposure.documented:
        facts |= b.prices(rng.randint(9, 60) / 10 + 0.05)
    rows = (Printed(f"{kcal} kcal", "Energy per 100 " + ("ml" if drink else "g")),) if label else ()
    links, noun = {"brand": brand.key}, "drink" if drink else "product"
    b.put(Thing(key, "food", full, noun, style, facts, links, rows, *_exposed(exposure)))


def add_seeds(b: Builder) -> None:
    """One packet of garden seeds."""
    rng = b.rng
    brand = add_company(b, "seed merchant")
    breeder, person = add_person(b, "plant breeder", born=b.year(1870, 1930), died=b.year(1950, 1999))
    plant = rng.choice(words.PLANTS)
    exposure = b.main_exposure()
    key = b.key("seeds")
    variety = b.names.from_patterns(
        lambda: f"{rng.choice(words.ADJECTIVES).title()} {rng.choice(words.WOMEN)}",
        lambda: f"{b.names.town()} {rng.choice(('Giant', 'Early', 'Wonder', 'Pride'))}",
    )
    facts = b.facts(
        exposure,
        printed("variety", name(variety)),
        printed("plant", phrase(plant)),
        printed("brand", name(brand.name), box=True),
        printed("seeds", count(rng.randint(4, 40) * 5, "seeds")),
        printed(
            "sowing",
            phrase(rng.choice(("February to April", "March to May", "April to June", "May to July"))),
        ),
        boxed("plant height", measure(rng.randint(3, 40) * 5, "cm")),
        boxed("germination", count(rng.randint(5, 28), "days")),
        boxed("plant spacing", measure(rng.randint(2, 12) * 5, "cm")),
        web("breeder", person_value(person)),
        web("first offered", year(b.year(1935, 2010))),
        b.maybe(0.5, lambda: web("soil", phrase(rng.choice(("sandy soil", "chalky soil", "peat"))))),
    )
    full = f"{variety} {plant}"
    links = {"brand": brand.key, "breeder": breeder.key}
    b.put(Thing(key, "seeds", full, "variety", key, facts, links, (), *_exposed(exposure)))


def add_gadgets(b: Builder) -> None:
    """A maker with one to three models of one device."""
    rng = b.rng
    maker = add_company(b, "electronics maker")
    device = rng.choice(words.GADGETS)
    family = b.names.model_family()
    style = b.key("gadgetstyle")
    for n in range(rng.choice((1, 2, 2, 3))):
        exposure = b.main_exposure() if n == 0 else b.sibling_exposure()
        _add_gadget(b, exposure, maker, device, family, style)


def _add_gadget(b: Builder, exposure: Exposure, maker: Thing, device: str, family: str, style: str) -> None:
    rng = b.rng
    key, model = b.key("gadget"), b.names.model(family)
    energy = rng.choice((37, 55, 74, 92, 111, 148))
    price = rng.randint(19, 199)
    facts = b.facts(
        exposure,
        printed("brand", name(maker.name), box=True),
        printed("model", phrase(model, model.replace("-", " "), f"{maker.name} {model}")),
        printed("energy", measure(energy, "Wh")) if device == "power bank" else None,
        described("battery life", count(rng.randint(5, 60), "hours")),
        boxed("released", year(b.year(2008, 2025))),
        boxed("weight", measure(rng.randint(60, 900), "g")),
        boxed("colours", several(tuple(rng.sample(words.COLOURS, rng.choice((2, 3)))))),
        web("water rating", phrase(rng.choice(("IPX4", "IPX5", "IPX7", "IP54", "IP67")))),
        web("warranty", count(rng.choice((2, 3, 5)), "years")),
        web("charging port", phrase(rng.choice(("USB-C", "micro-USB", "a barrel plug", "a magnetic dock")))),
        web("launch price", money(price + 10)),
        b.maybe(0.4, lambda: web("designer", person_value(b.names.person()))),
        b.maybe(0.35, lambda: web("assembly town", name(b.names.town()))),
    )
    if exposure.documented:
        facts |= b.prices(price)
    full, links = f"{maker.name} {model}", {"brand": maker.key}
    look = style if b.chance(0.6) else key
    rows = (Printed(device, "device"),)
    b.put(Thing(key, "gadget", full, device, look, facts, links, rows, *_exposed(exposure)))
