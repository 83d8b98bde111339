"""Restaurants (their menus) and shops (their fronts)."""

from __future__ import annotations

from evaluation.world import wordstock as words
from evaluation.world.model import Fact, Printed, Thing
from evaluation.world.things.actors import person_value
from evaluation.world.things.builder import Builder, Exposure, boxed, printed, web
from evaluation.world.values import AnswerType, Value, count, money, name, phrase, year

DISH_PREFIX = "price of "


def _exposed(exposure: Exposure) -> tuple[bool, bool, bool]:
    return exposure.photographed, exposure.catalogued, exposure.documented


def _menu_rows(b: Builder) -> tuple[tuple[str, str, float], ...]:
    rng = b.rng
    mains = [("Dishes", d, rng.randint(14, 48) / 2) for d in rng.sample(words.DISHES, 5)]
    sweets = [("Desserts", d, rng.randint(8, 18) / 2) for d in rng.sample(words.DESSERTS, 2)]
    drinks = [("Drinks", d, rng.randint(4, 16) / 2) for d in rng.sample(words.DRINK_ROWS, 4)]
    return tuple(mains + sweets + drinks)


def add_menus(b: Builder) -> None:
    """A restaurant with its printed menu."""
    rng = b.rng
    exposure = b.main_exposure()
    key = b.key("menu")
    title = b.names.from_patterns(
        lambda: f"The {rng.choice(words.ADJECTIVES).title()} {rng.choice(words.NOUNS).title()}",
        lambda: f"{rng.choice(('Café', 'Bistro', 'Osteria', 'Gasthof'))} {b.names.surname()}",
        lambda: f"{rng.choice(words.WOMEN + words.MEN)}'s Kitchen",
    )
    rows = _menu_rows(b)
    closed = rng.choice(("Monday", "Tuesday", "Wednesday"))
    facts = b.facts(
        exposure,
        printed("restaurant", name(title)),
        *(printed(DISH_PREFIX + dish, money(price)) for _, dish, price in rows),
        boxed("cuisine", phrase(rng.choice(words.CUISINES))),
        boxed("opened", year(b.year(1931, 2023))),
        boxed("town", name(b.names.town())),
        web("chef", person_value(b.names.person()), stale=person_value(b.names.person())),
        web("closed day", phrase(closed, closed + "s")),
        b.maybe(0.4, lambda: web("seats", count(rng.randint(18, 140), "seats"))),
        web("owner", person_value(b.names.person())) if b.chance(0.5) else None,
    )
    lines = tuple(Printed(money(price).text, f"{section}|{dish}") for section, dish, price in rows)
    b.put(Thing(key, "menu", title, "restaurant", key, facts, {}, lines, *_exposed(exposure)))


def hours_value(opens: int, closes: int) -> Value:
    """Opening hours as printed on a door; the judge gets both ends."""
    text = f"{opens:02d}:00 – {closes:02d}:00"
    spellings = (
        text, f"{opens:02d}:00-{closes:02d}:00", f"{opens:02d}:00 to {closes:02d}:00",
        f"{opens}:00 to {closes}:00", f"{opens} to {closes}",
    )  # fmt: skip
    return Value(text, AnswerType.TEXT, spellings, f"{opens}-{closes}")


def _shop_hours(b: Builder) -> tuple[Fact, ...]:
    opens, closes = b.rng.choice((7, 8, 9, 10)), b.rng.choice((17, 18, 19, 20))
    return (
        printed("weekday hours", hours_value(opens, closes)),
        printed("saturday hours", hours_value(opens + 1, closes - b.rng.choice((2, 3, 4)))),
        printed("sunday hours", hours_value(10, b.rng.choice((13, 14, 16))))
        if b.chance(0.4)
        else printed("sunday hours", phrase("closed")),
    )


def add_shops(b: Builder) -> None:
    """A shop, sometimes with a namesake in another town."""
    rng = b.rng
    trade = rng.choice(words.SHOP_TYPES)
    title = b.names.from_patterns(
        lambda: f"{b.names.surname()} & {rng.choice(('Sons', 'Daughters', 'Co'))}",
        lambda: f"The {rng.choice(words.ADJECTIVES).title()} {rng.choice(words.NOUNS).title()}",
        lambda: f"{rng.choice(words.WOMEN)}'s {trade.title()}",
    )
    twins = 2 if b.chance(0.4) else 1
    for n in range(twins):
        exposure = b.main_exposure() if n == 0 else b.sibling_exposure()
        _add_shop(b, exposure, title, trade)


def _add_shop(b: Builder, exposure: Exposure, title: str, trade: str) -> None:
    rng = b.rng
    key, town = b.key("shop"), b.names.town()
    street = b.names.from_patterns(
        lambda: f"{rng.choice(words.TOWN_HEADS)} {rng.choice(words.STREETS)}",
        lambda: f"{b.names.surname()} {rng.choice(words.STREETS)}",
    )
    number = rng.randint(2, 148)
    phone = f"{rng.randint(200, 989)} {rng.randint(1000, 9899)}"
    facts = b.facts(
        exposure,
        printed("name", name(title)),
        printed("street number", count(number)),
        printed("street", name(street)),
        *_shop_hours(b),
        boxed("address", phrase(f"{number} {street}, {town}", f"{number} {street}")),
        boxed("owner", person_value(b.names.person())),
        boxed("founded", year(b.year(1871, 2020))),
        boxed("town", name(town)),
        web("phone number", phrase(phone, phone.replace(" ", ""))),
        web("delivery fee", money(rng.choice((2, 2.5, 3, 3.5, 4.5)))) if b.chance(0.6) else None,
        web("building", phrase(rng.choice(("a former fire station", "an old granary", "a chapel"))))
        if b.chance(0.4)
        else None,
    )  # fmt: skip
    full = f"{title}, {town}"
    rows = (Printed(trade, "trade"),)
    b.put(Thing(key, "shop", full, "shop", key, facts, {}, rows, *_exposed(exposure)))
