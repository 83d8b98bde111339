"""A thing's record in the image knowledge base, with the markup that real infoboxes carry."""

from __future__ import annotations

from html import escape

from evaluation.world.model import Place, Thing
from evaluation.world.values import AnswerType

_KIND_LABEL = {
    "book": "book",
    "game": "board game",
    "food": "packaged food",
    "seeds": "garden seeds",
    "painting": "painting",
    "poster": "event",
    "plaque": "commemorative plaque",
    "menu": "restaurant",
    "shop": "shop",
}
_PLAIN_SHARE = 3


def attributes(thing: Thing) -> dict[str, str]:
    """Infobox attributes of a thing. Two of three names are wiki links, some values bold or escaped."""
    found = {"type": _KIND_LABEL.get(thing.kind, thing.noun)}
    for n, fact in enumerate(thing.facts.values()):
        if Place.INFOBOX not in fact.places:
            continue
        value = fact.value
        text = escape(value.text, quote=False)
        if value.markup and (value.type is not AnswerType.NAME or n % _PLAIN_SHARE):
            text = escape(value.markup, quote=False).replace("&lt;br /&gt;", "<br />")
        elif value.type is AnswerType.TEXT and n % 2:
            text = f"'''{text}'''"
        elif value.type is AnswerType.NUMBER and " " in text:
            text = text.replace(" ", "&nbsp;", 1)
        found[fact.attribute.replace(" ", "_")] = text
    return found
