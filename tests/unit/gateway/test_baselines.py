"""The published baselines: their searches, what the model reads, and how they refuse."""

from typing import Any

import pytest

from contracts.answer import Reason, Route
from gateway.llm.prompt import VlmOptions, Window
from gateway.pipelines.baselines import pipeline as baselines
from gateway.planning.plan import FULL, Plan
from gateway.state import Turn
from tests.unit.gateway.fakes import (
    AUTHOR,
    BOOK,
    PAGES,
    FakeServices,
    image_hit,
    images,
    pages,
    text_hit,
)
from tests.unit.gateway.papers import CLOSED, PHOTO, SEARCHING, ask_paper
from tests.unit.gateway.pipelines import WHO_WROTE, Result
from tests.unit.gateway.scripted_model import Cut

EVERY = (*CLOSED, *SEARCHING)
REWRITING = ("crag-mm-task-2", "crag-mm-task-3")
REWRITES, REWRITTEN = "answer image_search query_rewrite text_search", ["who wrote The Salt Road"]
ANSWER = ["answer_from_search"]
WIDE = VlmOptions(window=Window(60_000))


def find_things(*scores: float, **attributes: str) -> FakeServices:
    """Services that find a thing for each score."""
    hits = [image_hit(f"Thing {place}", score, **attributes) for place, score in enumerate(scores)]
    return FakeServices(image_search=images(*hits))


def find_pages(count: int, text: str = PAGES) -> FakeServices:
    """Services that find so many pages."""
    return FakeServices(text_search=pages(*[text_hit(f"{place}. {text}") for place in range(count)]))


def material(result: Result, prompt: str = "answer_from_search") -> tuple[str, str]:
    """What the prompt has of image search and of web search."""
    text = result.reasoner.text(prompt)
    begun = text[text.index("Image search: ") :].rpartition("\n\nQuestion:")[0]
    pictures, _, web = begun.partition("\n\nWeb search. ")
    return pictures, web


def names(result: Result) -> list[str]:
    """The things that the model reads of."""
    pictures, _ = material(result)
    fence = "<<<names>>>\n"
    return pictures[pictures.index(fence) + len(fence) :].splitlines()[0].split("; ")


@pytest.mark.parametrize(
    ("name", "stages", "prompts", "image_hits", "text_searches"),
    [
        ("llm-only", "answer", ["answer_alone"], [], []),
        ("cot", "draft", ["answer_in_steps"], [], []),
        ("direct-rag", "answer image_search text_search", ANSWER, [5], [([WHO_WROTE], 10)]),
        ("crag-mm-task-1", "answer image_search", ANSWER, [30], []),
        *((name, REWRITES, ["rewrite_query", *ANSWER], [30], [(REWRITTEN, 50)]) for name in REWRITING),
    ],
)
async def test_each_baseline_runs_its_own_stages_calls_and_searches_only(
    name: str, stages: str, prompts: list[str], image_hits: list[int], text_searches: list[Any]
) -> None:
    result = await ask_paper(name)
    services = result.services
    assert (sorted(result.stages), result.reasoner.names()) == (stages.split(), prompts)
    assert services.image_search.calls == [([PHOTO.jpeg], count) for count in image_hits]
    assert [(request.queries, request.k) for request in services.text_search.calls] == text_searches
    assert (result.outcome.reason, result.run.degraded) == (Reason.ANSWERED, [])
    assert result.outcome.route is (Route.DIRECT if name in CLOSED else Route.RAG)


@pytest.mark.parametrize("name", REWRITING)
async def test_query_is_rewritten_with_the_results_of_image_search(name: str) -> None:
    result = await ask_paper(name)
    pictures, web = material(result, "rewrite_query")
    assert (AUTHOR in pictures, web) == (True, "")
    notes = [(note.stage, note.text) for note in result.explanation.notes]
    assert notes == [("image_search", f"{BOOK} 0.970"), ("query_rewrite", "who wrote The Salt Road")]
    assert [piece.text for piece in result.explanation.evidence] == [AUTHOR, PAGES]


@pytest.mark.parametrize(
    ("written", "searched"),
    [
        ("1. price of {entity} today", "price of today"),
        ("what is <|eot_id|> this\nnow", "what is eot_id this now"),
        ("{}", WHO_WROTE),
        ("word " * 60, ("word " * 40).strip()),
    ],
)
async def test_a_rewritten_query_is_one_clean_line(written: str, searched: str) -> None:
    result = await ask_paper("crag-mm-task-2", {"rewrite_query": {"query": written}})
    assert result.services.text_search.calls[0].queries == [searched]


@pytest.mark.parametrize("task", baselines.TASKS)
async def test_crag_mm_keeps_entities_with_cosine_of_at_least_075(task: int) -> None:
    name = f"crag-mm-task-{task}"
    services = find_things(0.9, 0.75, 0.749, 0.1)
    assert names(await ask_paper(name, services=services)) == ["Thing 0", "Thing 1"]
    assert len(names(await ask_paper("direct-rag", services=services))) == 4
    near, far = image_hit("Near", 0.6), image_hit("Far", 0.9)
    services.image_search.reply = images(
        near.model_copy(update={"cosine": 0.76}), far.model_copy(update={"cosine": 0.74})
    )
    assert names(await ask_paper(name, services=services)) == ["Near"]
    assert "nothing like it was found" in material(await ask_paper(name, photo=None))[0]


async def test_entity_of_several_images_is_listed_once() -> None:
    services = FakeServices(
        image_search=images(image_hit("Near", 0.9), image_hit("Far", 0.8), image_hit("Near", 0.7))
    )
    result = await ask_paper("crag-mm-task-1", services=services)
    assert names(result) == ["Near", "Far"]
    assert [actual.title for actual in result.explanation.found] == ["Near", "Far", "Near"]


@pytest.mark.parametrize("name", ["direct-rag", *REWRITING])
async def test_pages_follow_image_hits_in_search_order(name: str) -> None:
    result = await ask_paper(name, services=find_pages(3))
    record, *actual = result.explanation.evidence
    assert record.text == AUTHOR
    assert [page.text[0] for page in actual] == ["0", "1", "2"]
    assert [page.score for page in actual] == [1 / 2, 1 / 3, 1 / 4]
    assert result.explanation.signals == {
        "image_top": pytest.approx(0.97),
        "answer_confidence": pytest.approx(0.9),
    }
    pictures, web = material(result)
    assert f"<<<names>>>\n{BOOK}\n" in pictures
    assert f"record: {BOOK}>>>" in pictures
    assert f"page: {BOOK}>>>" in web


@pytest.mark.parametrize("name", EVERY)
async def test_single_turn_tasks_omit_the_conversation(name: str) -> None:
    turns = tuple(Turn(f"question {n}", f"answer {n}", False) for n in range(12))
    result = await ask_paper(name, history=turns, photo_is_new=False)
    single = name in ("crag-mm-task-1", "crag-mm-task-2")
    for prompt in result.reasoner.names():
        text = result.reasoner.text(prompt)
        assert all((f"You: answer {n}\n" in text) is not single for n in range(12))
        assert ("photo is from earlier" in text) is not single


async def test_entities_take_at_most_two_thousand_tokens() -> None:
    services = find_things(*[0.9] * 30, about="a very long story about it. " * 40)
    result = await ask_paper("crag-mm-task-1", services=services, options=WIDE)
    assert len(names(result)) == 30
    assert 6_000 < len(material(result)[0].partition("<<<names>>>")[2]) <= 2_000 * 4


async def test_pages_take_at_most_eight_thousand_tokens_or_the_plans_share() -> None:
    services = find_pages(50, f"{BOOK} is long. " * 100)
    _, web = material(await ask_paper("crag-mm-task-2", services=services, options=WIDE))
    assert 30_000 < len(web) <= 8_000 * 4
    assert web.count("<<<piece") > 12  # passages stay whole
    smaller = Plan(evidence_chars=1_200, text_hits=5)
    _, web = material(await ask_paper("crag-mm-task-2", services=services, options=WIDE, plan=smaller))
    assert services.text_search.calls[1].k == 25
    assert 18_000 < len(web) <= 8_000 * 4 * 3 // 5


async def test_direct_rag_keeps_within_the_evidence_of_the_plan() -> None:
    result = await ask_paper("direct-rag", services=find_pages(10, f"{BOOK} is long. " * 100))
    size = sum(len(piece.text) for piece in result.explanation.evidence)
    assert FULL.evidence_chars / 2 < size <= FULL.evidence_chars


# Answers


@pytest.mark.parametrize("reply", [Cut('{"reasoning": [], "answer": "It has 31'), {"reasoning": []}])
async def test_steps_that_were_cut_off_or_have_no_answer_are_a_refusal(reply: Any) -> None:
    assert (await ask_paper("cot", {"answer_in_steps": reply})).outcome.reason is Reason.MODEL_UNSURE
