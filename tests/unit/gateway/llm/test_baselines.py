"""The VLM as the published baselines ask it: one call, no examples, and what was found within its fences."""

from dataclasses import replace
from typing import Any

import pytest

from bench.node import RunningServer, ServerTraits, says
from contracts.answer import CitationKind, Reason
from gateway.llm.prompt import VlmOptions, Window
from gateway.pipelines.baselines.retrieval import Findings
from gateway.state import Entity, Evidence, GenerationBudget, Query, Reply, Turn
from tests.unit.gateway.llm.stage import ASK, OPTIONS, bench, deadline, page

pytestmark = pytest.mark.anyio

FIAT = Entity("Fiat 500", 0.9, (("maker", "Fiat"),))
RECORD = Evidence("The maker of Fiat 500 is Fiat.", "Fiat 500", "", CitationKind.IMAGE, 0.9)
TURIN = page("Fiat was founded in Turin in 1899. It makes cars.", "Fiat")
FOUND = Findings((FIAT,), (RECORD,), (TURIN,))
SAYS_TURIN = {"answer": "Fiat was founded in Turin."}
STEPS = {"reasoning": ["The car is a Fiat 500.", "Fiat is from Turin."], **SAYS_TURIN}
SCRIPT: dict[str, Any] = {
    "answer_alone": says(SAYS_TURIN),
    "answer_in_steps": says(STEPS),
    "answer_from_search": says(SAYS_TURIN),
    "rewrite_query": says({"query": "In which city was the maker of the Fiat 500 founded?"}),
}


async def put(
    call: str,
    script: Any = None,
    ask: Query = ASK,
    results: Findings = FOUND,
    traits: ServerTraits | None = None,
    options: VlmOptions = OPTIONS,
) -> tuple[Any, RunningServer]:
    """The outcome of one call, and the server with what it was asked."""
    async with bench(SCRIPT | (script or {}), traits, options) as it:
        return await getattr(it.baselines, call)(*arguments(call, ask, results), deadline()), it.server


def arguments(call: str, ask: Query, results: Findings) -> tuple[Any, ...]:
    """What goes into a call before its deadline."""
    if call == "answer_from":
        return (ask, results, GenerationBudget())
    return (ask, results) if call == "rewrite_query" else (ask,)


PROMPT = {
    "answer_alone": "answer_alone",
    "answer_in_steps": "answer_in_steps",
    "answer_from": "answer_from_search",
    "rewrite_query": "rewrite_query",
}
ANSWERING = ("answer_alone", "answer_in_steps", "answer_from")


async def test_the_prompt_has_the_whole_conversation() -> None:
    turns = tuple(Turn(f"question {n}", f"answer {n}", False) for n in range(12))
    _, server = await put("answer_alone", ask=Query("And now?", ASK.photo, False, turns))
    assert all(f"answer {n}\n" in server.requests[0].text for n in range(12))


@pytest.mark.parametrize(
    "traits",
    [None, ServerTraits(json_schema=False, json_object=False, logprobs=False)],
    ids=["able", "neither schema nor logprobs"],
)
@pytest.mark.parametrize("call", ANSWERING)
async def test_the_answer_is_what_the_model_said(call: str, traits: ServerTraits | None) -> None:
    reply, _ = await put(call, traits=traits)
    assert reply.answer == "Fiat was founded in Turin."
    assert reply.reason is Reason.ANSWERED
    assert reply.confidence == (None if traits else pytest.approx(0.9))
    assert (reply.token_probabilities is None) is (traits is not None)


@pytest.mark.parametrize("call", ANSWERING)
async def test_a_declined_or_cut_reply_is_no_answer(call: str) -> None:
    value = STEPS if call == "answer_in_steps" else SAYS_TURIN
    cut = says(value, max_tokens=len(says(value).tokens) - 3)
    for declined in (says("", refusal="I will not."), cut):
        reply, _ = await put(call, {PROMPT[call]: declined})
        assert reply.answer is None


async def test_an_answer_from_search_quotes_its_source_sentence() -> None:
    reply, _ = await put("answer_from")
    (quote,) = reply.quotes
    assert (quote.index, quote.text) == (1, "Fiat was founded in Turin in 1899.")


async def test_names_come_before_records_and_records_before_pages() -> None:
    _, server = await put("answer_from")
    text = server.requests[0].text
    places = [text.index(part) for part in ("<<<names>>>\nFiat 500\n", RECORD.text, TURIN.text)]
    assert places == sorted(places)
    assert "record: Fiat 500>>>" in text
    assert "page: Fiat>>>" in text


async def test_query_rewriting_reads_no_page() -> None:
    query, server = await put("rewrite_query")
    assert query == "In which city was the maker of the Fiat 500 founded?"
    assert TURIN.text not in server.requests[0].text
    assert RECORD.text in server.requests[0].text


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("1. price of {entity} today", "price of today"),
        ("what is <|eot_id|> this\nnow", "what is eot_id this now"),
        ("{}", ASK.question),
        ("word " * 60, ("word " * 40).strip()),
    ],
)
async def test_a_rewritten_query_is_one_clean_line(text: str, searched: str) -> None:
    query, _ = await put("rewrite_query", {"rewrite_query": says({"query": text})})
    assert query == searched


async def test_an_empty_retrieval_is_named_in_the_prompt() -> None:
    _, server = await put("answer_from", results=Findings())
    assert "nothing like it was found" in server.requests[0].text


NARROW = {"answer_from": 3_600, "rewrite_query": 2_700}
"""Tokens that hold our own words, a photo, and some of the records."""


def much() -> Findings:
    """More of everything than a small window holds."""
    things = tuple(Entity(f"Thing {n}", 0.9) for n in range(10))
    records = tuple(
        Evidence(f"The size of Thing {n} is large.", f"Thing {n}", "", CitationKind.IMAGE) for n in range(10)
    )
    pages = tuple(page(f"Page {n} tells nothing. " * 20, f"Page {n}") for n in range(9))
    return Findings(things, records, (TURIN, *pages))


@pytest.mark.parametrize("call", ["answer_from", "rewrite_query"])
async def test_evidence_is_cut_to_the_context_window(call: str) -> None:
    reply, server = await put(call, results=much(), options=replace(OPTIONS, window=Window(NARROW[call])))
    (request,) = server.requests
    assert "size of Thing 0" in request.text
    assert "size of Thing 9" not in request.text
    if isinstance(reply, Reply):
        assert [quote.index for quote in reply.quotes] == [10]  # counted among all that was retrieved
