"""The published pipelines in front of fake services, with a model that the test scripts."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from contracts.text_search import TextHit, TextSearchReply, TextSearchRequest
from gateway.clients.services import Services
from gateway.llm.prompt import VlmOptions
from gateway.pipelines.port import Pipeline
from gateway.reasoners import PaperModel, Reasoners, every_pipeline
from gateway.state import Photo
from gateway.steps.routing import SearchRouter
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import PAGES, FakeServices, pages, text_hit
from tests.unit.gateway.pipelines import THRESHOLDS, Result, put
from tests.unit.gateway.reasoners import ScriptedReasoner
from tests.unit.gateway.scripted_model import ScriptedModel, first_piece

PHOTO = Photo(encoded(scene(96, 64), "JPEG", quality=90), 96, 64, "digest")
SEARCHING = ("direct-rag", "crag-mm-task-1", "crag-mm-task-2", "crag-mm-task-3")
CLOSED = ("llm-only", "cot")
BOTH_TOOLS = ("image_search", "text_search")
REPLIES: Mapping[str, Any] = {
    "chain_of_thought": {"reasoning": ["A lamp."], "object_label": "lamp"},
    "choose_tools": {"reason": "Both.", "tools": BOTH_TOOLS},
    "list_objects": {"objects": ["lamp", "table"]},
    "select_object": {"reason": "In front.", "object_label": "red lamp"},
    "match_entity": {"reason": "The title.", "candidate": 1},
    "split_query": {
        "reason": "Two facts.",
        "queries": ["who wrote {entity}", "where was the author of {entity} born"],
    },
    "enhance_queries": {"queries": []},  # so that each gets the thing's name by rule
    "answer_with_reasons": first_piece,
    "judge": "yes",
    "judge_with_reason": "It says so.\nYes.",
    "rewrite": "How many pages does The Salt Road have?",
    "sample_query": lambda prompt: {"query": ("first", "second", "third")[prompt.seed - 1]},
    "rank_evidence": {"relevant": [1]},
    "answer_briefly": first_piece,
    "plan_tools": "<think>?</think><tool>\n1. grounding: the book\n2. caption: a blue book\n3. flip\n</tool>",
    "describe_photo": "a blue book on a table",
    "filter_knowledge": "<think>Piece 1.</think><answer>It has 312 pages.</answer>",
    "answer_from_knowledge": PAGES,
    "answer_in_short": "312",
    "answer_alone": "It is a book.",
    "answer_in_steps": {"reasoning": ["It has pages."], "answer": "It is a book."},
    "rewrite_query": {"query": "who wrote The Salt Road"},
    "answer_from_search": first_piece,
}
ANSWERS = (
    "answer_with_reasons",
    "answer_briefly",
    "answer_from_knowledge",
    "answer_alone",
    "answer_from_search",
)
"""The prompts whose reply is an answer in plain text."""


def saying(reply: str | Exception) -> dict[str, Any]:
    """A model that answers this, whatever is asked, or fails to."""
    steps = {"reasoning": [], "answer": reply} if isinstance(reply, str) else reply
    return dict.fromkeys(ANSWERS, reply) | {"answer_in_steps": steps}


async def ask_paper(
    name: str,
    replies: Mapping[str, Any] | None = None,
    services: FakeServices | None = None,
    *,
    options: VlmOptions | None = None,
    **more: Any,
) -> Result:
    """Put one question to a published pipeline; `replies` go before `REPLIES`."""

    def pipeline(clients: Services, model: ScriptedModel) -> Pipeline:
        reasoners = Reasoners(ScriptedReasoner(), for_papers=PaperModel(model, options or VlmOptions()))
        return every_pipeline(clients, reasoners, THRESHOLDS, SearchRouter())[name]

    return await put(
        pipeline, ScriptedModel({**REPLIES, **(replies or {})}), services, **{"photo": PHOTO, **more}
    )


dragon = partial(ask_paper, "qa-dragon")
ask_three_step = partial(ask_paper, "three-step")
ask_wiki_prf = partial(ask_paper, "wiki-prf")


def passages(**counts: int) -> Callable[[TextSearchRequest], TextSearchReply]:
    """So many passages for a query, each telling its query and number."""

    def reply(request: TextSearchRequest) -> TextSearchReply:
        (query,) = request.queries
        hits = [numbered(query, number) for number in range(min(counts.get(query, 0), request.k))]
        return pages(*hits)

    return reply


def numbered(query: str, number: int) -> TextHit:
    """A passage of its own."""
    hit = text_hit(f"Passage {number} of {query}.")
    return hit.model_copy(
        update={"url": f"https://pages.example/{query}/{number}", "title": f"Page {number}"}
    )
