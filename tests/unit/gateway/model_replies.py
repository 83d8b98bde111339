"""What a model says of the book of `fakes`, prompt by prompt."""

from typing import Any

from bench.node import says
from tests.unit.gateway.fakes import AUTHOR, BOOK

UNKNOWN = {
    "reasoning": [f"The cover says {BOOK}.", "I cannot determine who wrote it."],
    "image_search": "book",
    "text_search": ["Who wrote {entity}?"],
}
READ = {
    "reasoning": [f"The question is about the title on the cover, which says {BOOK}."],
    "answer": f"The cover says {BOOK}.",
    "answerability": "in_photo",
}
SURE: dict[str, Any] = {"probability": 0.98}


def replies(look: dict[str, Any]) -> dict[str, Any]:
    """A model that finds the author in the evidence."""
    thought = {"object_label": "book", "entity": None, "answer": None, "answerability": "look_up"}
    thought |= {key: held for key, held in look.items() if not key.endswith("_search")}
    return {
        "understand": says(look, **SURE),
        "chain_of_thought": says(thought, **SURE),
        "choose_tools": says({"reason": "Both.", "tools": ["image_search", "text_search"]}, **SURE),
        "list_objects": says({"objects": ["poster", "mug"]}, **SURE),
        "select_object": says({"reason": "In front.", "object_label": "poster"}, **SURE),
        "match_entity": says({"reason": "The title.", "candidate": 1}, **SURE),
        "split_query": says({"reason": "One fact.", "queries": ["Who wrote {entity}?"]}, **SURE),
        "enhance_queries": says({"queries": [f"Who wrote {BOOK}?"]}, **SURE),
        "answer": says(AUTHOR, **SURE),
        "answer_with_reasons": says(AUTHOR, **SURE),
        "judge": says("yes", **SURE),
    }
