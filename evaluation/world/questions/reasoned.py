"""Questions whose answer has to be concluded from facts, rules and the calendar."""

from __future__ import annotations

import random
from collections.abc import Iterator

from evaluation.world.model import Place, Thing, World
from evaluation.world.questions.ask import NAMING, Ask, Category, composed, deictic, route_of
from evaluation.world.values import MONTHS, Value, count, yes_no

_LIQUID_LIMIT_ML = 100
_BATTERY_LIMIT_WH = 100


def _ask(
    thing: Thing,
    attribute: str,
    query: str,
    answer: str,
    value: Value,
    *,
    needs: str,
    shows: tuple[str, ...],
    domain: str,
    pages: tuple[str, ...] = (),
) -> Ask:
    opposite: tuple[str, ...] = ()
    if isinstance(value.plain, bool):
        opposite = ("no",) if value.plain else ("yes",)
    return Ask(
        Category.REASONING, query, answer, value, thing, thing.name, attribute, needs, shows, pages,
        opposite, (), domain,
    )  # fmt: skip


def carry_on(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """May this drink or power bank fly in the cabin, by the rule pages."""
    content, energy = thing.fact("net content"), thing.fact("energy")
    if content and content.value.unit == "ml":
        size = content.value.plain
        assert isinstance(size, int | float)
        allowed = size <= _LIQUID_LIMIT_ML
        query = composed(world, "drink on board", rng)
        verb = "is within" if allowed else "is over"
        answer = (
            f"{'Yes' if allowed else 'No'}, {content.value.text} {verb} the limit of 100 ml per container."
        )
        yield _ask(
            thing, "carry-on", query, answer, yes_no(allowed),
            needs="web", shows=("net content",), domain="food",
        )  # fmt: skip
    if energy and thing.photographed:
        size = energy.value.plain
        assert isinstance(size, int | float)
        free = size <= _BATTERY_LIMIT_WH
        query = composed(world, "battery on board", rng)
        reason = "up to" if free else "more than"
        answer = f"{'Yes' if free else 'No'}, it has {energy.value.text}, which is {reason} 100 Wh."
        yield _ask(
            thing, "power bank rule", query, answer, yes_no(free),
            needs="web", shows=("energy",), domain="general object recognition",
        )  # fmt: skip


def shop_open(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """Is the shop open at a given time, by the hours on its door."""
    if thing.kind != "shop" or not thing.photographed:
        return
    attribute, day = rng.choice(
        (
            ("weekday hours", rng.choice(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"))),
            ("saturday hours", "Saturday"),
            ("sunday hours", "Sunday"),
        )
    )
    hours = thing.facts[attribute].value
    hour = rng.randint(7, 21)
    plain = str(hours.plain)
    opens, closes = (int(h) for h in plain.split("-")) if "-" in plain else (0, 0)
    is_open = opens <= hour < closes
    clock = f"{hour - 12 if hour > 12 else hour} {'pm' if hour >= 12 else 'am'}"
    query = composed(world, "shop open", rng, day=day, clock=clock)
    said = f"open {hours.text}" if closes else "closed all day"
    yield _ask(
        thing, f"open {day} {hour}", query,
        f"{'Yes' if is_open else 'No'}, on {day} it is {said}.", yes_no(is_open),
        needs="photo", shows=(attribute,), domain="local",
    )  # fmt: skip


def ages(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """How old somebody was, from years printed or looked up."""
    if thing.kind == "plaque" and thing.photographed:
        born, died = thing.facts["birth year"].value, thing.facts["death year"].value
        age = int(str(died.plain)) - int(str(born.plain))
        query = composed(world, "age at death", rng)
        value = count(age, "years")
        yield _ask(
            thing, "age at death", query, f"About {age} years, from {born.text} to {died.text}.", value,
            needs="photo", shows=("birth year", "death year"), domain="local",
        )  # fmt: skip
    painter, painted = world.linked(thing, "artist"), thing.fact("year")
    birth = painter.known("born", Place.PAGES) if painter else None
    if painter and birth and painted and thing.photographed and route_of(thing, painted) == "image_kb":
        age = int(painted.value.text) - int(str(birth.value.plain)[:4])
        query = composed(world, "age of painter", rng)
        yield _ask(
            thing, "age of painter", query,
            f"{painter.name} was about {age} years old when painting {thing.name} in {painted.value.text}.",
            count(age, "years"), needs="image_kb+web", shows=(), domain="other", pages=(painter.key,),
        )  # fmt: skip


def reading_days(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """Days to read a book at a given pace."""
    pages = thing.fact("pages")
    route = route_of(thing, pages) if pages and thing.kind == "book" else None
    if pages is None or route is None:
        return
    total = pages.value.plain
    assert isinstance(total, int)
    pace = rng.choice((20, 25, 30, 40, 50))
    days = -(-total // pace)
    query = composed(world, "reading days", rng, this=deictic(world, thing, rng), pace=pace)
    yield _ask(
        thing, f"days at {pace}", query,
        f"With {total} pages you need {days} days at {pace} pages a day.", count(days, "days"),
        needs=route, shows=NAMING["book"], domain="book",
        pages=(thing.key,) if "web" in route else (),
    )  # fmt: skip


def warranty(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """Is it still under warranty, given when it was bought."""
    fact = thing.known("warranty", Place.PAGES)
    if fact is None or thing.kind != "gadget":
        return
    years = fact.value.plain
    assert isinstance(years, int)
    # The month before an anniversary, so that whole years decide.
    month = rng.randint(2, 12)
    bought, asked = 2021, 2021 + rng.choice((1, 2, 3, 4, 6))
    covered = asked - bought <= years
    when = f"{MONTHS[month - 1]} {bought}"
    query = composed(world, "warranty", rng, when=when, later=f"{MONTHS[month - 2]} {asked}")
    yield _ask(
        thing, f"warranty in {asked}", query,
        f"{'Yes' if covered else 'No'}, the warranty is {fact.value.text} from the purchase in {when}.",
        yes_no(covered), needs="web", shows=NAMING["gadget"],
        domain="shopping", pages=(thing.key,),
    )  # fmt: skip


def event_age(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """May a child of some age come to the event."""
    fact = thing.known("minimum age", Place.PAGES)
    if fact is None or thing.kind != "poster":
        return
    limit = fact.value.plain
    assert isinstance(limit, int)
    age = rng.choice((limit - 3, limit - 1, limit + 1, limit + 2))
    allowed = age >= limit
    query = composed(world, "event age", rng, age=age)
    yield _ask(
        thing, f"admission at {age}", query,
        f"{'Yes' if allowed else 'No'}, the minimum age is {fact.value.text}.", yes_no(allowed),
        needs="web", shows=("event",), domain="local", pages=(thing.key,),
    )  # fmt: skip


def worksheet(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """The result of a numbered problem."""
    if thing.kind != "worksheet":
        return
    for row in thing.rows:
        attribute = f"problem {row.label}"
        value = thing.facts[attribute].value
        query = composed(world, "worksheet", rng, n=row.label)
        yield _ask(
            thing, attribute, query, f"The answer to number {row.label} is {value.text}.", value,
            needs="photo", shows=(attribute,), domain="math and science",
        )  # fmt: skip
