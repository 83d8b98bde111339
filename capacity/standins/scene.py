"""What every stand-in knows: one bridge, its sign, and pages about it, so that the stages fit together.

A question's own words choose its route: "direct" is read off the sign, "verify" asks what the model knows
but should check, anything else has to be looked up.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from contracts.answer import Route

ENTITY = "Marrow Quay Bridge"
OBJECT_LABEL = "bridge"
PAGE_URL = "https://pages.example/marrow-quay-bridge"
ATTRIBUTES: Mapping[str, str] = MappingProxyType(
    {"opening year": "1931", "designer": "Ada Lindqvist", "length": "412 metres"}
)
SIGN = ("Marrow Quay Bridge", "Direct line every 12 minutes")

READ_ANSWER = "The sign says: Direct line every 12 minutes."
KNOWN_ANSWER = "Ada Lindqvist designed the Marrow Quay Bridge."
FOUND_ANSWER = "The Marrow Quay Bridge opened in 1931 and was designed by Ada Lindqvist."
FACT = "The Marrow Quay Bridge opened in 1931 and was designed by the engineer Ada Lindqvist."

READINGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {FACT: ("1931", FOUND_ANSWER), SIGN[1]: ("12 minutes", READ_ANSWER)}
)
"""A sentence, the words in it that answer, and what is said then."""

QUESTIONS: Mapping[Route, str] = MappingProxyType(
    {
        Route.DIRECT: "What does the sign say about the direct line?",
        Route.VERIFY: "Please verify: who designed this bridge?",
        Route.RAG: "When did this bridge open, and who designed it?",
    }
)
"""One question for each route, which the gateway's own search router takes on the stand-ins' drafts."""

_DIRECT = re.compile(r"\bdirect\b", re.IGNORECASE)
_VERIFY = re.compile(r"\bverify\b", re.IGNORECASE)
_TOPICS = (
    "the granite of its piers",
    "the lamps along the western footway",
    "the ferry that it replaced",
    "the tolls that were taken until the war",
    "the repainting of the towers",
    "the gale that closed it for a week",
    "the tram rails under the asphalt",
    "the inspection of the main cables",
    "the market at its northern end",
    "the cormorants on the lower struts",
    "the drawings kept in the harbour office",
    "the plaque beside the eastern stair",
)


class Tone(StrEnum):
    """How a sentence of a page begins."""

    RECORD = "The harbour record"
    REPORT = "A later report"
    LETTER = "A letter to the council"


def route_of(question: str) -> Route:
    """The route that the question asks for."""
    if _DIRECT.search(question):
        return Route.DIRECT
    return Route.VERIFY if _VERIFY.search(question) else Route.RAG


@cache
def page(number: int) -> str:
    """A page of about 230 words, three chunks: the fact first, then what is said about it elsewhere."""
    sentences = [FACT]
    tones = tuple(Tone)
    for place, topic in enumerate(_TOPICS):
        tone = tones[(number + place) % len(tones)]
        year = 1931 + (7 * number + 3 * place) % 80
        sentences.append(
            f"{tone} number {number + 1}.{place + 1}, of {year}, says of the Marrow Quay Bridge that {topic} "
            "had been looked at again."
        )
    return " ".join(sentences)


def page_url(number: int) -> str:
    """Where that page is."""
    return f"{PAGE_URL}/{number + 1}"
