"""The few-hop reasoner against a scripted server, over HTTP."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from bench.node import ServerTraits, says
from contracts.answer import Reason
from contracts.domain_router import Domain
from gateway.llm.asking import JUDGE, REASONED_JUDGE, domain_text
from gateway.llm.prompt import VlmOptions, Window, prompt_text
from gateway.llm.reading import NO, YES
from gateway.state import GenerationBudget, Judgement, PhotoText, Query, Quote, Tool
from tests.unit.gateway.llm.stage import (
    ASK,
    FOLLOW_UP,
    PHOTO,
    bench,
    context,
    deadline,
    draft,
    nothing_printed,
    page,
    printed,
)

LOOK = {
    "reasoning": ["The small car is a Fiat 500.", "Fiat is from Turin."],
    "entity": "Fiat 500",
    "answer": "Fiat is from Turin.",
    "answerability": "check",
    "image_search": "Car",
    "text_search": ["In which city was the maker of the {entity} founded?"],
}
READ = {"reasoning": ["The blackboard."], "answer": "A flat white costs 3.20.", "answerability": "in_photo"}
ANSWER = "Fiat was founded in Turin."
TURIN = page("Fiat was founded in Turin in 1899. Its first car had two seats.", "Fiat")


async def drafted(reply: Any, ask: Query = ASK, text: PhotoText | None = None, **traits: Any) -> Any:
    """The draft made from one reply."""

    async def read() -> PhotoText:
        return text or PhotoText()

    async with bench({"understand": reply}, ServerTraits(**traits)) as it:
        return await it.reasoner.draft(ask, None, read, deadline())


async def answered(reply: Any, *evidence: Any, **traits: Any) -> Any:
    """The reply made from one reply."""
    async with bench({"answer": reply}, ServerTraits(**traits)) as it:
        return await it.reasoner.answer(ASK, draft(), context(*evidence), GenerationBudget(), deadline())


async def test_one_call_gives_the_complete_draft() -> None:
    async with bench({"understand": says(LOOK, probability=0.99, probabilities={"answer": 0.4})}) as it:
        made = await it.reasoner.draft(ASK, None, nothing_printed, deadline())
        (request,) = it.server.requests
    assert (request.name, request.images) == ("understand", [PHOTO.jpeg])
    assert made.confidence == pytest.approx(0.4)
    assert (made.object_label, made.entity, made.answer) == ("car", "Fiat 500", "Fiat is from Turin.")
    assert made.reasoning == "The small car is a Fiat 500.\nFiat is from Turin."
    assert not made.self_contained
    assert made.tools == set(Tool)
    assert made.sub_queries == ("In which city was the maker of the {entity} founded?",)


EXAMPLES = [case.reply.get("answer") for case in prompt_text("understand").cases]


@pytest.mark.parametrize("text", [None, "", "I cannot determine the maker.", *EXAMPLES])
async def test_a_draft_that_refuses_or_repeats_an_example_is_looked_up(text: str | None) -> None:
    made = await drafted(says(READ | {"answer": text}))
    assert (made.answer, made.confidence, made.self_contained) == (None, None, False)
    assert Tool.TEXT_SEARCH in made.tools


async def test_answer_read_from_the_photo_quotes_its_print() -> None:
    made = await drafted(says(READ), text=printed("FLAT WHITE 3.20", "FILTER 2.80"))
    assert made.self_contained
    assert made.tools == frozenset()
    assert made.quotes == ("FLAT WHITE 3.20",)


async def test_a_draft_does_not_wait_for_ocr_beyond_its_time() -> None:
    async def never() -> PhotoText:
        await anyio.sleep_forever()
        return PhotoText()

    async with bench({"understand": says(READ)}) as it:
        made = await it.reasoner.draft(ASK, None, never, deadline(400))
    assert made.answer == READ["answer"]
    assert made.quotes == ()


async def test_without_a_photo_no_answer_is_read_from_it() -> None:
    made = await drafted(says(READ), Query("What does a flat white cost?", None))
    assert made.answer == READ["answer"]
    assert not made.self_contained
    assert made.tools == {Tool.TEXT_SEARCH}


async def test_search_queries_of_the_model_are_cleaned() -> None:
    hostile = {"image_search": "Car; rm -rf {x} <|eot|>", "text_search": ["{vehicle}\n{entity}", "{}", "a"]}
    made = await drafted(says(LOOK | hostile))
    assert (made.object_label, made.sub_queries) == ("car", ("vehicle {entity}", "a"))


async def test_answer_quotes_its_source_sentence() -> None:
    made = await answered(says(ANSWER, probability=0.8), page("Nothing here."), TURIN)
    assert made.answer == "Fiat was founded in Turin."
    assert made.quotes == (Quote(1, "Fiat was founded in Turin in 1899."),)
    assert made.reason is Reason.ANSWERED
    assert made.confidence == pytest.approx(0.8)
    assert made.token_probabilities
    assert made.token_probabilities == pytest.approx([0.8] * len(made.token_probabilities))


async def test_without_log_probabilities_confidence_is_not_measured() -> None:
    for traits in ({"logprobs": False}, {"ignores_logprobs": True}):
        assert (await drafted(says(LOOK), **traits)).confidence is None
    made = await answered(says(ANSWER), TURIN, logprobs=False)
    assert made.answer == "Fiat was founded in Turin."
    assert (made.token_probabilities, made.confidence) == (None, None)


async def test_answer_without_evidence_comes_from_the_photo() -> None:
    assert (await answered(says("It is red."))).answer == "It is red."
    assert (await answered(says("I don't know."))).reason is Reason.NO_EVIDENCE
    made = await answered(says("I don't know."), TURIN)
    assert (made.answer, made.confidence, made.reason) == (None, 0, Reason.MODEL_UNSURE)


async def test_without_evidence_and_photo_no_request_is_sent() -> None:
    ask = Query("Who founded Fiat?", None)
    async with bench({}) as it:
        made = await it.reasoner.answer(ask, draft(), context(), GenerationBudget(), deadline())
        assert it.server.requests == []
    assert (made.answer, made.reason) == (None, Reason.NO_EVIDENCE)


async def test_evidence_is_cut_to_the_context_window() -> None:
    long = [page(f"Sentence {n} says little. " * 40) for n in range(12)]
    prompts: dict[int, str] = {}
    for window in (4_000, 60_000):
        async with bench({"answer": says(ANSWER)}, options=VlmOptions(window=Window(window))) as it:
            shown, enough = context(TURIN, *long), GenerationBudget(evidence_chars=8_000)
            made = await it.reasoner.answer(ASK, draft(), shown, enough, deadline())
            (request,) = it.server.requests
        prompts[window] = request.text
        assert made.quotes
    assert 1_000 < len(prompts[4_000]) < len(prompts[60_000]) - 2_000


async def judge_of(judged: Any, name: str = JUDGE, **traits: Any) -> Judgement:
    """The judgement of one answer."""
    script = {"answer_with_reasons": says(ANSWER), name.rpartition("/")[2]: judged}
    async with bench(script, ServerTraits(**traits)) as it:
        shown, budget = context(TURIN), GenerationBudget()
        made = await it.stepwise.answer(ASK, draft(), shown, budget, deadline())
        return await it.stepwise.judge(ASK, made, shown, budget, deadline(), name)


@pytest.mark.parametrize(
    ("text", "rivals", "worth"),
    [
        ("yes", {"yes": 0.6, "no": 0.2, "the": 0.1}, 0.75),
        ("No", {"No": 0.5, "Yes": 0.3}, 0.375),
        ("Yes.", {"Yes": 0.4, "yes": 0.2, "No": 0.1, "NO": 0.1}, 0.75),
        ("yes", {"yes": 0.9, "maybe": 0.1}, 1.0),
        ("The answer is right.", {"The": 0.7, "Yes": 0.2, "No": 0.1}, 2 / 3),
    ],
)
async def test_judgement_weighs_yes_against_no(text: str, rivals: dict[str, float], worth: float) -> None:
    judgement = await judge_of(says(text, rivals=rivals))
    assert judgement.probability == pytest.approx(worth)


@pytest.mark.parametrize(
    ("text", "worth"),
    [("Yes.", YES), (" yes", YES), ("**No**", NO), ("Not quite.", NO), ("Perhaps", None), ("42", None)],
)
async def test_judgement_without_log_probabilities_is_fixed(text: str, worth: float | None) -> None:
    assert await judge_of(says(text), logprobs=False) == Judgement(worth)


REASON = "The evidence names Turin, and no other town."


@pytest.mark.parametrize(
    ("text", "worth"),
    [(f"{REASON}\nYes.", YES), (f"{REASON}\n**no**", NO), (REASON, None), (f"Yes. {REASON}", None)],
)
@pytest.mark.parametrize("logprobs", [False, True])
async def test_judge_with_a_reason_ends_with_its_verdict(
    text: str, worth: float | None, logprobs: bool
) -> None:
    judgement = await judge_of(says(text), REASONED_JUDGE, logprobs=logprobs)
    assert (judgement.token_probabilities is not None) is logprobs
    if logprobs:  # the script's server is sure of its word, and names no other
        worth = None if worth is None else float(worth > 0.5)
    assert judgement.probability == worth


async def test_judge_continues_the_answer_s_conversation() -> None:
    script = {"answer": says(ANSWER), "judge": says("yes")}
    async with bench(script) as it:
        shown = context(TURIN, *(page(f"Piece {n} is long. " * 100) for n in range(9)))
        budget = GenerationBudget(answer_tokens=50, evidence_chars=1_000)
        made = await it.reasoner.answer(ASK, draft(), shown, budget, deadline())
        await it.reasoner.judge(ASK, made, shown, budget, deadline())
        prompts, judged = (request.body["messages"] for request in it.server.requests)
    assert judged[: len(prompts)] == prompts
    assert [each["role"] for each in judged[len(prompts) :]] == ["assistant", "user"]
    assert judged[-2]["content"] == made.answer


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("How long is the Fiat 500?", "How long is the Fiat 500?"),
        ("<think>It is a car.</think>\nHow long is the Fiat 500?", "How long is the Fiat 500?"),
        ("{}", FOLLOW_UP.question),
    ],
)
async def test_follow_up_is_rewritten_or_unchanged(text: str, question: str) -> None:
    async with bench({"rewrite": says(text)}) as it:
        assert await it.reasoner.rewrite(replace(FOLLOW_UP, photo=None), deadline()) == question
        (request,) = it.server.requests
    assert "You: It is a Fiat 500." in request.text


async def test_questions_without_a_photo_get_no_draft() -> None:
    async with bench({}) as it:
        for ask in (ASK, Query("Who founded Fiat?", None)):
            assert it.reasoner.drafts(ask) == it.stepwise.drafts(ask) == (ask.photo is not None)


async def test_domain_advice_follows_the_task() -> None:
    async with bench({"understand": says(LOOK)}) as it:
        for domain in (None, Domain.BOOK):
            await it.reasoner.draft(ASK, domain, nothing_printed, deadline())
        plain, advised = (request.text for request in it.server.requests)
    advice = domain_text(Domain.BOOK).advice
    assert advice in advised
    assert advice not in plain
    assert advised.startswith(plain[: plain.index("Question: ")].rstrip())


@pytest.mark.parametrize("search", [{"text_search": ["Where is it made?"]}, {"image_search": "car"}])
async def test_photo_answer_keeps_the_searches_it_asks_for(search: dict[str, Any]) -> None:
    made = await drafted(says(READ | search))
    assert made.self_contained
    assert {f"{tool}" for tool in made.tools} == set(search)
