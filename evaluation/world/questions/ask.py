"""One question with its truth, and how things are referred to when asking."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import StrEnum

from evaluation.world.model import Fact, Place, Thing, World
from evaluation.world.text import Questions, article, gold_answers, words_of
from evaluation.world.values import AnswerType, Value, unknown


class Category(StrEnum):
    """CRAG-MM's question categories."""

    RECOGNITION = "simple-recognition"
    KNOWLEDGE = "simple-knowledge"
    MULTI_HOP = "multi-hop"
    COMPARISON = "comparison"
    AGGREGATION = "aggregation"
    REASONING = "reasoning"


@dataclass(frozen=True)
class Ask:
    """A question about a thing.

    `shows` are printed attributes that the photo must keep readable; `pages` are keys of things whose
    pages are needed; `contrast` are wrong candidates that a right answer may still mention.
    """

    category: Category
    query: str
    answer: str
    value: Value
    subject: Thing
    entity: str
    attribute: str
    needs: str
    shows: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    contrast: tuple[str, ...] = ()
    domain: str = ""
    dynamism: str = "static"

    @property
    def answerable(self) -> bool:
        """Whether a right answer other than a refusal exists."""
        return self.value.type is not AnswerType.UNANSWERABLE


NAMING: dict[str, tuple[str, ...]] = {
    "book": ("title",),
    "game": ("title",),
    "food": ("brand", "product", "flavour"),
    "seeds": ("variety", "plant"),
    "gadget": ("brand", "model"),
    "poster": ("event",),
    "plaque": ("person",),
    "menu": ("restaurant",),
    "shop": ("name", "street", "street number"),
}
DOMAINS: dict[str, str] = {
    "book": "book",
    "game": "sports and games",
    "food": "food",
    "seeds": "plants and gardening",
    "gadget": "general object recognition",
    "painting": "other",
    "poster": "local",
    "plaque": "local",
    "menu": "food",
    "shop": "local",
    "worksheet": "math and science",
}
_READING = {"poster", "plaque", "menu", "shop"}
RELATIONS = (
    ("book", "author"), ("game", "designer"), ("food", "brand"), ("seeds", "breeder"), ("seeds", "brand"),
    ("gadget", "brand"), ("painting", "artist"), ("painting", "museum"), ("poster", "venue"),
    ("plaque", "person"),
)  # fmt: skip
# Asking for these where there is none would rest on a false premise.
_ONLY_IF_PRESENT = {"energy", "series"}
_FAST = ("price at ", "ticket price", "employees", "chef", "attendance", "delivery fee")
_PRONOUNS = {"it": ("it", "its"), "she": ("her", "her"), "he": ("him", "his")}


@dataclass(frozen=True)
class Reference:
    """How a question speaks of a thing: as subject and as object, as owner, and what the thing shows.

    `whose` is empty where nobody would say it so ("the book in front of me's publisher"); `shown` differs
    from the thing where it is a sign of something else, as a poster is of an event.
    """

    this: str
    object: str
    whose: str
    shown: str

    @property
    def pronoun(self) -> bool:
        """Whether only what was said before tells what is meant."""
        return self.this in _PRONOUNS


def named(phrase: str) -> Reference:
    """By a name, a description or a pronoun, which stands for what is shown as well."""
    whom, whose = _PRONOUNS.get(phrase, (phrase, f"{phrase}'s"))
    return Reference(phrase, whom, whose, whom)


def described(phrase: str) -> Reference:
    """By a description that is too long to own anything, or by a pronoun."""
    return named(phrase) if phrase in _PRONOUNS else replace(named(phrase), whose="")


def _pointed(world: World, thing: Thing, phrase: str, rng: random.Random) -> Reference:
    shown = questions_of(world).shown.get(thing.kind, ("{this}",))
    whose = f"{phrase}'s" if phrase.startswith(("this ", "that ")) else ""
    return Reference(phrase, phrase, whose, rng.choice(shown).format(this=phrase))


def deictic(world: World, thing: Thing, rng: random.Random) -> str:
    """How the wearer points at the thing."""
    return rng.choice(questions_of(world).deictic[thing.kind]).format(noun=thing.noun)


def pointed(world: World, thing: Thing, rng: random.Random) -> Reference:
    """The thing as the wearer points at it."""
    return _pointed(world, thing, deictic(world, thing, rng), rng)


def pointed_again(world: World, thing: Thing, rng: random.Random) -> Reference:
    """The thing as the wearer briefly points at it once more."""
    return _pointed(world, thing, questions_of(world).brief[thing.kind], rng)


def related(world: World, thing: Thing, relation: str, this: str, rng: random.Random) -> str:
    """The linked thing, described through the one in the photo."""
    return rng.choice(questions_of(world).relations[thing.kind][relation]).format(this=this)


def questions_of(world: World) -> Questions:
    """How this world's split asks."""
    return words_of(world.plan.split).questions


def composed(world: World, question: str, rng: random.Random, **fields: object) -> str:
    """One of the ways to put a question that is composed of several facts."""
    return rng.choice(questions_of(world).composed[question]).format(**fields)


def dynamism(attribute: str) -> str:
    """How quickly the answer changes."""
    if attribute.startswith(_FAST):
        return "slow-changing" if attribute != "ticket price" else "fast-changing"
    return "static"


def domain_of(thing: Thing, attribute: str, rng: random.Random) -> str:
    """The CRAG-MM domain of a question about the thing."""
    if attribute.startswith("price at "):
        return "shopping"
    if thing.kind in _READING and Place.PRINTED in _places(thing, attribute) and rng.random() < 0.5:
        return "text understanding"
    return DOMAINS.get(thing.kind, "other")


def _places(thing: Thing, attribute: str) -> frozenset[Place]:
    fact = thing.fact(attribute)
    return fact.places if fact else frozenset()


def fill_query(template: str, reference: Reference) -> str:
    """A query with the reference filled in."""
    return template.format(
        this=reference.this, object=reference.object, whose=reference.whose, shown=reference.shown
    )


def sayable(template: str, reference: Reference) -> bool:
    """Whether the template can be filled so; one without a place for the reference points at the photo."""
    return bool(reference.whose or "{whose}" not in template) and not (
        reference.pronoun and "{" not in template
    )


def word_query(
    world: World, kind: str, attribute: str, reference: Reference, rng: random.Random
) -> str | None:
    """One of the natural ways to ask for the attribute; None where there is none with this reference."""
    templates = questions_of(world).attributes[kind][attribute]
    fitting = [template for template in templates if sayable(template, reference)]
    return fill_query(rng.choice(fitting), reference) if fitting else None


def word_answer(thing: Thing, attribute: str, value: Value, rng: random.Random) -> str:
    """A full sentence with the answer."""
    template = rng.choice(gold_answers()[thing.kind][attribute])
    text = template.format(name=thing.spoken, v=value.text, a=article(value.text))
    return text[0].upper() + text[1:]


def refusal(rng: random.Random) -> str:
    """What a gold answer says when nothing is known."""
    return rng.choice(("I don't know.", "I don't know, I could not find that.", "Sorry, I don't know."))


def wrong_values(world: World, thing: Thing, fact: Fact) -> tuple[str, ...]:
    """Values that would betray a mix-up: the outdated one and those of siblings."""
    wrong = [fact.stale.text] if fact.stale else []
    for other in world.of_kind(thing.kind):
        sibling = other.key != thing.key and set(other.links.values()) & set(thing.links.values())
        theirs = other.fact(fact.attribute)
        if sibling and theirs and theirs.value.type is AnswerType.NAME:
            wrong.append(theirs.value.text)
    return tuple(w for w in dict.fromkeys(wrong) if w not in fact.value.accepted)


def route_of(thing: Thing, fact: Fact) -> str | None:
    """Where the wearer's assistant must look for the fact, or None if it is nowhere."""
    if thing.findable(fact, Place.PRINTED):
        return "photo"
    if thing.findable(fact, Place.INFOBOX):
        return "image_kb"
    if not thing.findable(fact, Place.PAGES):
        return None
    if thing.kind == "painting":
        return "image_kb+web" if thing.catalogued else None
    return "web"


def ask_fact(
    world: World, thing: Thing, attribute: str, rng: random.Random, reference: Reference | None = None
) -> Ask | None:
    """The question for one attribute of a photographed thing; unanswerable if the fact is nowhere.

    None when the attribute cannot be asked of this kind, or not with this reference.
    """
    fact = thing.fact(attribute)
    asked = questions_of(world).attributes.get(thing.kind, {})
    if attribute not in asked or (not fact and attribute in _ONLY_IF_PRESENT):
        return None
    route = route_of(thing, fact) if fact else None
    query = word_query(world, thing.kind, attribute, reference or pointed(world, thing, rng), rng)
    if query is None:
        return None
    naming = NAMING.get(thing.kind, ())
    shows = (attribute,) if route == "photo" else naming
    recognised = route == "photo" or (thing.kind == "painting" and attribute in {"title", "artist"})
    base = Ask(
        category=Category.RECOGNITION if recognised else Category.KNOWLEDGE,
        query=query,
        answer=refusal(rng),
        value=unknown(),
        subject=thing,
        entity=thing.name,
        attribute=attribute,
        needs="web",
        shows=shows,
        domain=domain_of(thing, attribute, rng),
        dynamism=dynamism(attribute),
    )
    if fact is None or route is None:
        return base
    return replace(
        base,
        answer=word_answer(thing, attribute, fact.value, rng),
        value=fact.value,
        needs=route,
        pages=(thing.key,) if "web" in route else (),
        must_not=wrong_values(world, thing, fact),
    )


def ask_hop(
    world: World, thing: Thing, relation: str, attribute: str, rng: random.Random, this: str = ""
) -> Ask | None:
    """The question about the linked thing, such as where a book's author was born; None if unsayable.

    `this` refers to the linked thing; without it, the thing in the photo is pointed at.
    """
    target = world.linked(thing, relation)
    if target is None or attribute not in questions_of(world).attributes.get(target.kind, {}):
        return None
    link = route_to(thing, relation)
    fact = target.known(attribute, Place.PAGES)
    whom = this or related(world, thing, relation, deictic(world, thing, rng), rng)
    query = word_query(world, target.kind, attribute, described(whom), rng)
    if query is None:
        return None
    printed = _places(thing, relation) & {Place.PRINTED}
    single = printed and thing.kind in {"plaque", "poster"}
    answerable = fact is not None and link is not None
    value = fact.value if fact and answerable else unknown()
    needs = "image_kb+web" if link == "image_kb" or thing.kind == "painting" else "web"
    pages = (target.key, thing.key) if link == "web" else (target.key,)
    return Ask(
        category=Category.KNOWLEDGE if single else Category.MULTI_HOP,
        query=query,
        answer=word_answer(target, attribute, value, rng) if answerable else refusal(rng),
        value=value,
        subject=thing,
        entity=target.name,
        attribute=attribute,
        needs=needs,
        shows=(relation,) if printed else NAMING.get(thing.kind, ()),
        pages=pages if answerable else (),
        must_not=wrong_values(world, target, fact) if fact and answerable else (),
        domain=DOMAINS.get(thing.kind, "other"),
        dynamism=dynamism(attribute),
    )


def route_to(thing: Thing, relation: str) -> str | None:
    """Where the link itself can be read, or None."""
    fact = thing.fact(relation)
    return route_of(thing, fact) if fact else None
