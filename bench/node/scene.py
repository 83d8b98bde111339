"""Canned replies of the node: one bridge, its sign and pages about it, so that all replies fit together.

The words of a question choose its route: "direct" is read off the sign, "verify" asks what the model knows
but should check, anything else has to be looked up. Only prompts of the `loreglass` pipeline are scripted.
"""

import re
from collections.abc import Mapping

from bench.node.model import ReplyFor
from bench.node.replies import Says, says
from bench.node.requests import SchemaFormat, ScriptedRequest
from contracts.answer import Route
from gateway.llm.reply_forms import in_lines

ENTITY = "Marrow Quay Bridge"
OBJECT_LABEL = "bridge"
PAGE_URL = "https://pages.example/marrow-quay-bridge"
ATTRIBUTES = {"opening year": "1931", "designer": "Ada Lindqvist", "length": "412 metres"}
SIGN = (ENTITY, "Direct line every 12 minutes")
FACT = f"The {ENTITY} opened in 1931 and was designed by the engineer Ada Lindqvist."
_READ = "The sign says: Direct line every 12 minutes."
_KNOWN = f"Ada Lindqvist designed the {ENTITY}."
_FOUND = f"The {ENTITY} opened in 1931 and was designed by Ada Lindqvist."
READINGS = {FACT: ("1931", _FOUND), SIGN[1]: ("12 minutes", _READ)}
"""For the reader: a sentence, the words in it that answer, and the spoken answer."""

QUESTIONS: Mapping[Route, str] = {
    Route.DIRECT: "What does the sign say about the direct line?",
    Route.VERIFY: "Please verify: who designed this bridge?",
    Route.RAG: "When did this bridge open, and who designed it?",
}
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_PROBABILITY = 0.97
_TOPICS = ("the granite piers", "the lamps", "the old ferry", "the tolls", "the towers", "the tram rails")


def page(number: int) -> str:
    """Return a page of about 110 words that begins with the fact."""
    sentences = [FACT]
    for place, topic in enumerate(_TOPICS):
        year = 1931 + (7 * number + 3 * place) % 80
        sentences.append(
            f"Report {number + 1}.{place + 1} of {year} says that {topic} of the {ENTITY} were checked again."
        )
    return " ".join(sentences)


def route_of(question: str) -> Route:
    """Return the route that a question asks for."""
    words = question.casefold().split()
    if "direct" in words:
        return Route.DIRECT
    return Route.VERIFY if "verify:" in words else Route.RAG


def _understand(request: ScriptedRequest) -> Says:
    questions = _QUESTION.findall(request.text)
    fields = _UNDERSTANDINGS[route_of(questions[-1] if questions else "")]
    as_json = isinstance(request.chat.response_format, SchemaFormat)
    return says(fields if as_json else in_lines(fields), probability=_PROBABILITY)


_UNDERSTANDINGS: Mapping[Route, dict[str, object]] = {
    Route.DIRECT: {
        "reasoning": ["The sign beside the footway: a direct line every 12 minutes, in print."],
        "answer": _READ,
        "answerability": "in_photo",
    },
    Route.VERIFY: {
        "reasoning": [
            f"Two granite towers and the name on the sign: the {ENTITY}.",
            "Ada Lindqvist is known as its designer; that should be checked.",
        ],
        "entity": ENTITY,
        "answer": _KNOWN,
        "answerability": "check",
        "text_search": [f"Who designed the {ENTITY}?", "Which works is Ada Lindqvist known for?"],
    },
    Route.RAG: {
        "reasoning": ["The bridge with two towers; I cannot determine its opening year or its designer."],
        "image_search": OBJECT_LABEL,
        "text_search": ["When did {entity} open?", "Who designed {entity}?"],
    },
}


def _answer(request: ScriptedRequest) -> Says:
    task = request.text.rpartition("TASK:")[2]
    return says(_FOUND if FACT in task else "I don't know", probability=_PROBABILITY)


SCRIPT: Mapping[str, Says | ReplyFor] = {
    "understand": _understand,
    "answer": _answer,
    "judge": says("yes", probability=_PROBABILITY),
    "rewrite": says(f"When did the {ENTITY} open, and who designed it?", probability=_PROBABILITY),
}
