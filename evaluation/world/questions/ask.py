"""One question with its truth, and how things are referred to when asking."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from evaluation.world.model import Fact, Place, Thing, World
from evaluation.world.questions.wording_places import WORDINGS
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
_DEICTIC: dict[str, tuple[str, ...]] = {
    "book": ("this book", "the book I'm holding", "the book in front of me", "this"),
    "game": ("this game", "this board game", "the game on the table"),
    "food": ("this", "this pack", "what I'm holding", "this product"),
    "seeds": ("this seed packet", "this packet", "these seeds here"),
    "gadget": ("this {noun}", "this device", "the {noun} in front of me", "this"),
    "painting": ("this painting", "the painting in front of me", "this picture"),
    "poster": ("this poster", "the poster here"),
    "plaque": ("this plaque", "the plaque I'm looking at"),
    "menu": ("this menu", "the menu in my hand"),
    "shop": ("this shop", "the shop in front of me", "this store"),
    "worksheet": ("this worksheet", "this sheet"),
}
# Plural and bare pronouns break the grammar of most wordings for these kinds.
_SINGULAR = {"seeds": ("this seed packet", "this packet"), "gadget": ("this device", "this gadget")}
_RELATION: dict[tuple[str, str], tuple[str, ...]] = {
    ("book", "author"): ("the author of {this}", "the person who wrote {this}", "the writer of {this}"),
    ("game", "designer"): ("the designer of {this}", "whoever designed {this}"),
    ("food", "brand"): ("the company that makes {this}", "the maker of {this}"),
    ("seeds", "breeder"): ("the breeder of {this}", "the person who bred {this}"),
    ("seeds", "brand"): ("the seed company of {this}",),
    ("gadget", "brand"): ("the company behind {this}", "the maker of {this}"),
    ("painting", "artist"): ("the painter of {this}", "the artist who made {this}"),
    ("painting", "museum"): ("the museum that owns {this}", "the museum where {this} hangs"),
    ("poster", "venue"): ("the venue on {this}", "the place named on {this}"),
    ("plaque", "person"): ("the person on {this}", "the person honoured on {this}"),
}
RELATIONS = tuple(_RELATION)
_ITS = {
    "author": "its author",
    "designer": "its designer",
    "brand": "its maker",
    "breeder": "its breeder",
    "artist": "its painter",
    "museum": "its museum",
    "venue": "the venue on it",
    "person": "the person on it",
}
# Asking for these where there is none would rest on a false premise.
_ONLY_IF_PRESENT = {"energy", "series"}
_FAST = ("price at ", "ticket price", "employees", "chef", "attendance", "delivery fee")
_AFTER_PREPOSITION = re.compile(r"\b(of|to|at|for|into|on|by|married) \{this\}")
_CLAUSE = re.compile(r"I'm|\b(me|table|here|hand|at)\b")
_THE_X_ON_THIS = re.compile(r"the (event|restaurant|place) on \{this\}")


def deictic(thing: Thing, rng: random.Random) -> str:
    """How the wearer points at the thing."""
    phrase = rng.choice(_DEICTIC[thing.kind]).format(noun=thing.noun)
    plural = phrase.startswith("these") or phrase.endswith("headphones")
    return rng.choice(_SINGULAR[thing.kind]) if plural else phrase


def simple_deictic(thing: Thing) -> str:
    """Pointing at the thing in two words."""
    return _SINGULAR.get(thing.kind, _DEICTIC[thing.kind])[0] if thing.kind != "food" else "this product"


def relation_phrase(thing: Thing, relation: str, this: str, rng: random.Random) -> str:
    """The linked thing, described through the one in the photo."""
    if this == "it":
        return _ITS[relation]
    return rng.choice(_RELATION[thing.kind, relation]).format(this=this)


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


def fill_query(template: str, this: str, *, pronoun: bool = False) -> str:
    """A query with the reference filled in; pronouns swallow 'the event on …'."""
    if pronoun:
        template = _THE_X_ON_THIS.sub("{this}", template)
    whose = {"it": "its", "she": "her", "he": "his"}.get(this, f"{this}'s")
    if "{whose}" in template and (this == "this" or _CLAUSE.search(this)):
        # Nobody says "the book in front of me's publisher".
        template, whose = template.replace("{whose}", "the").rstrip("?") + " of {this}?", ""
    if "this book" in template and pronoun:
        template = template.replace("this book", "it")
    return template.format(this=this, whose=whose)


def word_query(kind: str, attribute: str, this: str, rng: random.Random, *, pronoun: bool = False) -> str:
    """One of the natural ways to ask for the attribute."""
    templates = WORDINGS[kind][attribute].queries
    if this in {"she", "he"}:
        templates = tuple(t for t in templates if not _AFTER_PREPOSITION.search(t)) or templates
    return fill_query(rng.choice(templates), this, pronoun=pronoun)


def word_answer(thing: Thing, attribute: str, value: Value, rng: random.Random) -> str:
    """A full sentence with the answer."""
    template = rng.choice(WORDINGS[thing.kind][attribute].answers)
    text = template.format(name=thing.name, v=value.text)
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
    world: World, thing: Thing, attribute: str, rng: random.Random, *, this: str = "", pronoun: bool = False
) -> Ask | None:
    """The question for one attribute of a photographed thing; unanswerable if the fact is nowhere.

    None when the attribute cannot be asked of this kind.
    """
    fact = thing.fact(attribute)
    if attribute not in WORDINGS.get(thing.kind, {}) or (not fact and attribute in _ONLY_IF_PRESENT):
        return None
    route = route_of(thing, fact) if fact else None
    query = word_query(thing.kind, attribute, this or deictic(thing, rng), rng, pronoun=pronoun)
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
    world: World,
    thing: Thing,
    relation: str,
    attribute: str,
    rng: random.Random,
    *,
    this: str = "",
    pronoun: bool = False,
) -> Ask | None:
    """The question about the linked thing, such as where a book's author was born; None if unsayable."""
    target = world.linked(thing, relation)
    if target is None or attribute not in WORDINGS.get(target.kind, {}):
        return None
    link = route_to(thing, relation)
    fact = target.known(attribute, Place.PAGES)
    whom = this or relation_phrase(thing, relation, deictic(thing, rng), rng)
    query = word_query(target.kind, attribute, whom, rng, pronoun=pronoun)
    printed = _places(thing, relation) & {Place.PRINTED}
    single = printed and thing.kind in {"plaque", "poster"}
    answerable = fact is not None and link is not None
    value = fact.value if fact and answerable else unknown()
    needs = "image_kb+web" if link == "image_kb" or thing.kind == "painting" else "web"
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
        pages=(target.key, thing.key) if link == "web" else (target.key,),
        must_not=wrong_values(world, target, fact) if fact and answerable else (),
        domain=DOMAINS.get(thing.kind, "other"),
        dynamism=dynamism(attribute),
    )


def route_to(thing: Thing, relation: str) -> str | None:
    """Where the link itself can be read, or None."""
    fact = thing.fact(relation)
    return route_of(thing, fact) if fact else None
