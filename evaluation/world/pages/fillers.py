"""Sentences and whole pages that state no fact of the world, so that reading is needed to find one."""

from __future__ import annotations

import random

from evaluation.world import wordstock as words

_ABOUT: dict[str, tuple[str, ...]] = {
    "book": (
        "The first chapter is slow, and then it is not.",
        "Nobody in our reading circle agreed about the ending.",
        "There is a dog, and the dog is fine.",
        "The paper is thick and smells of glue.",
        "It is a good choice for a long train ride.",
    ),
    "game": (
        "The pieces are wooden and nicely heavy.",
        "Explaining the rules takes a cup of tea.",
        "We played it on a rainy weekend and lost a pawn under the sofa.",
        "Luck matters less than one fears.",
    ),
    "food": (
        "The taste is rounder than the smell.",
        "Children in our test liked it, cats did not.",
        "It goes well with a plain breakfast.",
        "The pack can be opened without scissors.",
    ),
    "seeds": (
        "Slugs like it too, so watch out in wet years.",
        "It does well on a balcony.",
        "Sow thinly and be patient.",
        "Neighbours asked for a handful of seeds.",
    ),
    "gadget": (
        "The buttons click in a satisfying way.",
        "The manual is short and almost funny.",
        "We dropped it once and it did not mind.",
        "The cable in the box is too short, as always.",
    ),
    "painting": (
        "The brushwork repays a second look.",
        "Schoolchildren usually notice the sky first.",
        "Forgers have tried their luck with it.",
        "The frame is not original.",
    ),
    "poster": (
        "Bring a jacket, the evenings get cool.",
        "Bicycles can be left behind the building.",
        "There is food, and the queue is long.",
        "The programme is printed on recycled paper.",
    ),
    "person": (
        "Letters from those years survive in three archives.",
        "A small exhibition is planned.",
        "Contemporaries describe a dry sense of humour.",
        "Little is known about the childhood years.",
    ),
}
_ANY = (
    "More about that another time.",
    "Visitors often ask about it.",
    "We checked this twice.",
    "Opinions differ, facts do not.",
    "Thanks to everyone who wrote in.",
    "Photographs are welcome, flashes are not.",
)
_TOPICS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "How to {verb} a {object}",
        (
            "First find a clean table and good light.",
            "A soft cloth is better than paper.",
            "Do not hurry; most damage is done in the last minute.",
            "If the {object} squeaks, a drop of oil helps.",
            "Keep small parts in an egg carton.",
            "When in doubt, ask somebody who has done it before.",
        ),
    ),
    (
        "A weekend in {town}",
        (
            "The morning train to {town} is rarely full.",
            "Begin at the market and let the smell of bread lead you.",
            "The path along the water is flat and takes an hour.",
            "In {town} the cafés close early, so dine before dark.",
            "Rain is likely; the arcades keep one dry.",
            "The tower of {town} is worth every stair.",
        ),
    ),
    (
        "Council news from {town}",
        (
            "The council of {town} met on Thursday evening.",
            "Members discussed the bicycle lane for two hours.",
            "A new bench will be placed near the fountain.",
            "The proposal to plant lime trees was put off.",
            "Residents of {town} complained about the noise of leaf blowers.",
            "The next meeting is open to the public.",
        ),
    ),
    (
        "{dish}, the way we cook it",
        (
            "Peel the onions and cut them finely.",
            "Let the butter foam but not brown.",
            "Our grandmother added a pinch of nutmeg to {dish}.",
            "Simmer over a low flame and stir now and then.",
            "Serve {dish} with a slice of rye bread.",
            "It tastes even better the next day.",
        ),
    ),
)
_VERBS = ("clean", "repair", "store", "choose", "paint")


def remark(kind: str, rng: random.Random) -> str:
    """A sentence that fits the kind of thing and states nothing about it."""
    return rng.choice(_ABOUT.get(kind, _ANY) + _ANY)


def distraction(town: str, rng: random.Random) -> tuple[str, list[str]]:
    """Title and paragraphs of a page about nothing that is asked here."""
    title, lines = rng.choice(_TOPICS)
    words_in = {
        "town": town,
        "verb": rng.choice(_VERBS),
        "object": rng.choice(words.NOUNS),
        "dish": rng.choice(words.DISHES).capitalize(),
    }
    sentences = [line.format(**words_in) for line in lines]
    rng.shuffle(sentences)
    cut = rng.randint(2, 4)
    paragraphs = [" ".join(sentences[:cut]), " ".join(sentences[cut:])]
    return title.format(**words_in), paragraphs
