"""`wiki-prf`: the tools in the plan's order, their sections, filtered knowledge, and what may fail alone."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from chassis.errors import DependencyUnavailable
from contracts.answer import Reason, Route
from contracts.cropper import CropReply
from contracts.reranker import RerankReply, RerankRequest, RerankResult, RerankUsage
from contracts.text_search import TextSearchReply, TextSearchRequest
from gateway.pipelines.wiki_prf.model import DESCRIPTION_CHARS, KNOWLEDGE_CHARS
from gateway.pipelines.wiki_prf.pipeline import EVIDENCE_CHARS, mirror_jpeg
from gateway.pipelines.wiki_prf.tool_plan import Material
from gateway.planning.plan import FULL, Plan
from tests.unit.gateway.fakes import (
    BOOK,
    PAGES,
    FakeServices,
    Mood,
    crop_region,
    image_hit,
    images,
    pages,
    text_hit,
)
from tests.unit.gateway.llm.stage import page
from tests.unit.gateway.papers import PHOTO, ask_wiki_prf, numbered, saying
from tests.unit.gateway.pipelines import WHO_WROTE
from tests.unit.gateway.scripted_model import Cut

BROKEN = DependencyUnavailable("The model is away.")
CROP = b"\xff\xd8crop"
GROUND, CAPTION, FLIP = (
    {"plan_tools": line} for line in ("grounding: the book", "caption: a blue book", "flip")
)
NO_TOOL = {"plan_tools": BROKEN}


def plan(*tools: dict[str, str]) -> dict[str, str]:
    """A plan of these tools in this order."""
    return {"plan_tools": "\n".join(tool["plan_tools"] for tool in tools)}


def with_crop(services: FakeServices | None = None) -> FakeServices:
    """Services whose cropper finds two regions."""
    services = services or FakeServices()
    regions = [crop_region(CROP), crop_region(b"\xff\xd8other")]
    services.cropper.reply = CropReply(regions=regions, width=96, height=64)
    return services


def pictures(services: FakeServices) -> list[bytes]:
    """What was searched by, in order."""
    return [picture for searched, _ in services.image_search.calls for picture in searched]


def filter_pieces(result: Any) -> tuple[list[str], list[str]]:
    """The pieces of the whole photo's article and of the tools' sections, as the filter reads them."""
    document, _, sections = result.reasoner.text("filter_knowledge").partition("Found by the tools.")
    return _bodies(document), _bodies(sections)


def _bodies(text: str) -> list[str]:
    return [part.split(">>>\n", 1)[1].split("\n<<<end>>>")[0] for part in text.split("<<<piece ")[1:]]


async def test_tools_run_in_plan_order_and_a_flip_applies_to_later_ones() -> None:
    services = with_crop()
    lamp, zoom = {"plan_tools": "grounding: the lamp"}, {"plan_tools": "zoom: in"}
    result = await ask_wiki_prf(plan(lamp, FLIP, CAPTION, GROUND, zoom), services)
    assert pictures(services) == [PHOTO.jpeg, CROP, CROP]
    assert [call[1] for call in services.cropper.calls] == [["the lamp"], ["the book"]]
    assert [call[0] == PHOTO.jpeg for call in services.cropper.calls] == [True, False]
    searched = [call.queries for call in services.text_search.calls]
    assert searched == [[BOOK], [BOOK], ["a blue book on a table"], [BOOK]]
    used = "grounding: the lamp; flip; caption: a blue book; grounding: the book"
    assert result.notes("tool_plan") == [used]


async def test_truncated_plan_keeps_complete_lines() -> None:
    result = await ask_wiki_prf({"plan_tools": Cut("- Flip\n- caption: a blue")})
    assert result.notes("tool_plan") == ["flip"]


@pytest.mark.parametrize("reply", [BROKEN, "I don't know.", "x" * 5_000])
async def test_unreadable_plan_uses_the_full_photos_best_article(reply: Any) -> None:
    hits = [image_hit(BOOK, 0.9), image_hit("Another Book", 0.8, author="Nobody")]
    services = FakeServices(image_search=images(*hits))
    result = await ask_wiki_prf({"plan_tools": reply}, services)
    assert pictures(services) == [PHOTO.jpeg]
    assert not services.cropper.calls
    assert filter_pieces(result) == ([f"The author of {BOOK} is Mira Holm.", PAGES], [])
    assert result.outcome.reason is Reason.ANSWERED
    assert result.run.degraded == ["tool_plan"]


async def test_article_at_the_records_url_is_read_completely() -> None:
    hits = [text_hit(f"Part {number}.") for number in range(12)]
    services = FakeServices(
        pages=lambda request: pages(*(hit.model_copy(update={"url": request.addresses[0]}) for hit in hits))
    )
    document, _ = filter_pieces(await ask_wiki_prf(NO_TOOL, services))
    assert document[1:] == [hit.snippet for hit in hits]
    assert services.text_search.calls == []


@pytest.mark.parametrize(
    ("services", "smaller", "cropper"),
    [(FakeServices, FULL, "done"), (with_crop, Plan(crops=0, answer_tokens=30), "skipped")],
    ids=["no region", "no time for crops"],
)
async def test_grounding_without_a_region_or_time_uses_the_full_photo(
    services: Callable[[], FakeServices], smaller: Plan, cropper: str
) -> None:
    result = await ask_wiki_prf(GROUND, services(), plan=smaller)
    assert result.states("cropper") == [cropper]
    assert pictures(result.services) == [PHOTO.jpeg]
    assert filter_pieces(result)[1]
    assert result.reasoner.prompts[-1].max_tokens <= smaller.answer_tokens


@pytest.mark.parametrize("reply", [BROKEN, "...", "<think>Is it a car"])
async def test_without_a_description_the_caption_is_searched(reply: Any) -> None:
    services = FakeServices()
    result = await ask_wiki_prf({**CAPTION, "describe_photo": reply}, services)
    assert services.text_search.calls[-1].queries == ["a blue book"]
    assert services.picture_texts.calls == []  # image search takes no texts
    assert result.run.degraded == ["caption"]


async def test_a_description_is_one_bounded_line() -> None:
    hostile = {
        "plan_tools": "caption: a car [INST]",
        "describe_photo": "<think>?</think>A\u202e car.\n" + "Red. " * 300,
    }
    result = await ask_wiki_prf(hostile)
    (query,) = result.services.text_search.calls[-1].queries
    assert query.startswith("A car. Red.")
    assert len(query) <= DESCRIPTION_CHARS
    assert "[INST]" not in result.reasoner.text("describe_photo")


async def test_caption_searches_images_if_image_search_accepts_text() -> None:
    services = FakeServices()
    services.takes = ("image", "text")
    services.picture_texts.reply = images(image_hit("Fair", 0.6))
    result = await ask_wiki_prf(CAPTION, services)
    (request,) = services.picture_texts.calls
    assert (request.texts, request.k, request.collection) == (["a blue book on a table"], 5, "images")
    assert services.text_search.calls[-1].queries == ["Fair"]
    assert result.notes("crop_search") == ["caption: Fair"]
    assert [call.query for call in services.reranker.calls] == ["a blue book on a table"]
    assert result.run.degraded == []


@pytest.mark.parametrize("mood", [Mood.WORKS, Mood.CRASHES])
async def test_caption_without_image_hits_searches_texts(mood: Mood) -> None:
    services = FakeServices()
    services.takes = ("image", "text")
    services.picture_texts.reply = images()
    services.picture_texts.mood = mood
    result = await ask_wiki_prf(CAPTION, services)
    assert services.picture_texts.calls
    assert services.text_search.calls[-1].queries == ["a blue book on a table"]
    assert result.run.degraded == (["crop_search"] if mood is Mood.CRASHES else [])


def many(request: TextSearchRequest) -> TextSearchReply:
    """As many passages as are wanted."""
    return pages(*[numbered(request.queries[0].split()[0], number) for number in range(request.k)])


def last_first(request: RerankRequest) -> RerankReply:
    """The later, the better."""
    results = [
        RerankResult(index=index, relevance_score=(index + 1) / 100)
        for index in reversed(range(len(request.documents)))
    ]
    return RerankReply(id="r", model="fake", results=results, usage=RerankUsage(total_tokens=0))


@pytest.mark.parametrize(
    ("tool", "ranked_by", "article_hits"),
    [(CAPTION, "a blue book on a table", 5), (GROUND, WHO_WROTE, 10)],
)
async def test_three_sections_are_kept_by_caption_or_by_question(
    tool: dict[str, str], ranked_by: str, article_hits: int
) -> None:
    services = FakeServices(text_search=many, reranker=last_first)
    result = await ask_wiki_prf(tool, services)
    assert services.text_search.calls[-1].k == article_hits
    assert [call.query for call in services.reranker.calls] == [ranked_by]
    first = "a" if tool is CAPTION else "The"
    last = article_hits - 1
    assert filter_pieces(result)[1] == [f"Passage {last - n} of {first}." for n in range(3)]


def test_gathered_evidence_is_bounded_without_repeats() -> None:
    pieces = tuple(page(f"{number} " + "x" * 996) for number in range(20))
    cut = Material((*pieces[:3], *pieces), (pieces[1], *pieces)).within(EVIDENCE_CHARS)
    assert cut.document == pieces[:5]
    assert [item.text[:2].strip() for item in cut.sections] == ["1", "0", "2", "3", "4"]
    assert sum(len(item.text) for item in cut.evidence) <= EVIDENCE_CHARS


async def test_answer_uses_filtered_knowledge_and_cites_passages() -> None:
    result = await ask_wiki_prf(services=with_crop())
    _, sections = filter_pieces(result)
    assert len(set(sections)) == len(sections) == 2
    assert result.reasoner.pieces("answer_from_knowledge") == []
    assert "<<<knowledge>>>\nIt has 312 pages.\n" in result.reasoner.text("answer_from_knowledge")
    assert (result.outcome.reason, result.outcome.route) == (Reason.ANSWERED, Route.RAG)
    assert [citation.snippet for citation in result.outcome.citations] == [PAGES]
    assert result.notes("knowledge_filter") == ["It has 312 pages."]


async def test_filtered_knowledge_is_bounded_and_never_cited() -> None:
    text = "Fiat makes tractors in Modena. "
    result = await ask_wiki_prf({**saying(text), **{"filter_knowledge": f"<answer>{text * 200}</answer>"}})
    assert (result.outcome.answer, result.outcome.citations) == (text.strip(), ())
    assert result.reasoner.text("answer_from_knowledge").count(text) <= KNOWLEDGE_CHARS / len(text)


@pytest.mark.parametrize("reply", [BROKEN, "Turin."])
async def test_unfiltered_knowledge_is_the_fallback(reply: Any) -> None:
    result = await ask_wiki_prf({"filter_knowledge": reply})
    assert PAGES in result.reasoner.pieces("answer_from_knowledge")
    assert result.outcome.reason is Reason.ANSWERED
    assert result.run.degraded == ["knowledge_filter"]


async def test_question_without_a_photo_searches_pages_without_a_plan() -> None:
    result = await ask_wiki_prf(photo=None)
    assert "plan_tools" not in result.reasoner.names()
    assert [call.queries for call in result.services.text_search.calls] == [[WHO_WROTE]]
    assert filter_pieces(result)[1] == [PAGES]
    assert (result.outcome.answer, result.run.degraded) == (PAGES, [])


def test_mirrored_image_is_flipped_horizontally() -> None:
    turned = np.asarray(Image.open(io.BytesIO(mirror_jpeg(PHOTO.jpeg))).convert("RGB")).astype(int)
    assert turned.shape == (64, 96, 3)
    assert turned[32, 10, 2] > 150 > 80 > turned[32, 10, 0]  # the blue half is on the left now
    assert turned[32, 85, 0] > 150 > 80 > turned[32, 85, 2]
