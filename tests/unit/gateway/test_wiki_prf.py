"""`wiki-prf`: the tools in the plan's order, their sections, filtered knowledge, and what may fail alone."""

import io

import numpy as np
import pytest
from PIL import Image

from chassis.errors import CorruptImage, DependencyUnavailable
from contracts.answer import Reason, Route
from contracts.cropper import CropReply
from contracts.reranker import RerankReply, RerankRequest, RerankResult, RerankUsage
from contracts.text_search import TextSearchReply, TextSearchRequest
from gateway.pipelines.wiki_prf.photo_tools import mirror_jpeg
from gateway.pipelines.wiki_prf.pipeline import EVIDENCE_CHARS
from gateway.pipelines.wiki_prf.tool_plan import Material, PhotoTool, ToolCall, ToolPlan
from gateway.planning.plan import Plan
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
from tests.unit.gateway.papers import PHOTO, QUESTION, ScriptedWikiPrf, ask_wiki_prf, best_first, numbered

pytestmark = pytest.mark.anyio

BROKEN = DependencyUnavailable("The model is away.")
CROP = b"\xff\xd8crop"
GROUND, CAPTION, FLIP = (
    ToolPlan((ToolCall(PhotoTool.GROUNDING, "the book"),)),
    ToolPlan((ToolCall(PhotoTool.CAPTION, "a blue book"),)),
    ToolPlan((ToolCall(PhotoTool.FLIP),)),
)


def with_crop(services: FakeServices | None = None) -> FakeServices:
    """Services whose cropper finds two regions."""
    services = services or FakeServices()
    regions = [crop_region(CROP), crop_region(b"\xff\xd8other")]
    services.cropper.reply = CropReply(regions=regions, width=96, height=64)
    return services


def pictures(services: FakeServices) -> list[bytes]:
    """What was searched by, in order."""
    return [picture for searched, _ in services.image_search.calls for picture in searched]


async def test_the_tools_are_used_in_the_plan_s_order() -> None:
    reasoner = ScriptedWikiPrf(plan=ToolPlan((*FLIP.calls, *CAPTION.calls, *GROUND.calls), dropped=1))
    services = with_crop()
    result = await ask_wiki_prf(reasoner, services)
    assert pictures(services) == [PHOTO.jpeg, CROP]
    assert [call[1] for call in services.cropper.calls] == [["the book"]]
    assert [call.queries for call in services.text_search.calls] == [
        [BOOK],
        ["a blue book on a table"],
        [BOOK],
    ]
    assert result.notes("tool_plan") == [
        "flip; caption: a blue book; grounding: the book; lines that are no call: 1"
    ]


@pytest.mark.parametrize(("plan", "mirrored"), [((*FLIP.calls, *GROUND.calls), True), (GROUND.calls, False)])
async def test_a_flip_turns_the_photo_for_the_tools_after_it(
    plan: tuple[ToolCall, ...], mirrored: bool
) -> None:
    services = with_crop()
    await ask_wiki_prf(ScriptedWikiPrf(plan=ToolPlan(plan)), services)
    ((photo, *_),) = services.cropper.calls
    assert (photo != PHOTO.jpeg) is mirrored


async def test_an_article_at_the_address_of_the_record_is_read_whole() -> None:
    services = FakeServices()
    hits = [text_hit(f"Part {number}.") for number in range(12)]
    services.pages.reply = lambda request: pages(
        *(hit.model_copy(update={"url": request.addresses[0]}) for hit in hits)
    )
    reasoner = ScriptedWikiPrf(plan=ToolPlan())
    await ask_wiki_prf(reasoner, services)
    assert [item.text for item in reasoner.arguments["filter"].document[1:]] == [hit.snippet for hit in hits]
    assert services.text_search.calls == []


async def test_the_whole_photo_s_best_article_is_always_there() -> None:
    services = FakeServices()
    hits = [image_hit(BOOK, 0.9), image_hit("Another Book", 0.8, author="Nobody")]
    services.image_search.reply = images(*hits)
    reasoner = ScriptedWikiPrf(plan=ToolPlan())
    await ask_wiki_prf(reasoner, services)
    gathered = reasoner.arguments["filter"]
    assert [item.text for item in gathered.document] == [f"The author of {BOOK} is Mira Holm.", PAGES]
    assert gathered.sections == ()


async def test_unreadable_plan_leaves_the_full_photo_search() -> None:
    reasoner = ScriptedWikiPrf(failing={"plan_tools": BROKEN})
    result = await ask_wiki_prf(reasoner)
    assert pictures(result.services) == [PHOTO.jpeg]
    assert not result.services.cropper.calls
    assert reasoner.arguments["filter"].document
    assert result.outcome.reason is Reason.ANSWERED
    assert result.run.degraded == ["tool_plan"]


async def test_grounding_without_a_region_searches_the_full_photo() -> None:
    services = FakeServices()
    reasoner = ScriptedWikiPrf(plan=GROUND)
    result = await ask_wiki_prf(reasoner, services)
    assert services.cropper.calls
    assert pictures(services) == [PHOTO.jpeg]
    assert reasoner.arguments["filter"].sections
    assert result.run.degraded == []


async def test_failed_description_falls_back_to_the_caption() -> None:
    services = FakeServices()
    reasoner = ScriptedWikiPrf(plan=CAPTION, failing={"describe": BROKEN})
    result = await ask_wiki_prf(reasoner, services)
    assert services.text_search.calls[-1].queries == ["a blue book"]
    assert services.picture_texts.calls == []  # image search takes no texts
    assert result.run.degraded == ["caption"]


async def test_a_caption_searches_pictures_where_image_search_takes_texts() -> None:
    services = FakeServices()
    services.takes = ("image", "text")
    services.picture_texts.reply = images(image_hit("Fair", 0.6))
    result = await ask_wiki_prf(ScriptedWikiPrf(plan=CAPTION), services)
    (request,) = services.picture_texts.calls
    assert (request.texts, request.k, request.collection) == (["a blue book on a table"], 5, "images")
    assert services.text_search.calls[-1].queries == ["Fair"]
    assert result.notes("crop_search") == ["caption: Fair"]
    assert [call.query for call in services.reranker.calls] == ["a blue book on a table"]
    assert result.run.degraded == []


@pytest.mark.parametrize("mood", [Mood.WORKS, Mood.CRASHES])
async def test_a_caption_that_finds_no_picture_is_looked_for_in_texts(mood: Mood) -> None:
    services = FakeServices()
    services.takes = ("image", "text")
    services.picture_texts.reply = images()
    services.picture_texts.mood = mood
    result = await ask_wiki_prf(ScriptedWikiPrf(plan=CAPTION), services)
    assert services.picture_texts.calls
    assert services.text_search.calls[-1].queries == ["a blue book on a table"]
    assert result.run.degraded == (["crop_search"] if mood is Mood.CRASHES else [])


def many(request: TextSearchRequest) -> TextSearchReply:
    """As many passages as are wanted."""
    hits = [numbered(request.queries[0].split()[0], number) for number in range(request.k)]
    return pages(*hits)


def last_first(request: RerankRequest) -> RerankReply:
    """The later, the better."""
    results = [
        RerankResult(index=index, relevance_score=(index + 1) / 100)
        for index in reversed(range(len(request.documents)))
    ]
    return RerankReply(id="r", model="fake", results=results, usage=RerankUsage(total_tokens=0))


@pytest.mark.parametrize(
    ("plan", "ranked_by", "article_hits"),
    [(CAPTION, "a blue book on a table", 5), (GROUND, QUESTION, 10)],
)
async def test_three_sections_are_kept_by_caption_or_by_question(
    plan: ToolPlan, ranked_by: str, article_hits: int
) -> None:
    services = FakeServices()
    services.text_search.reply, services.reranker.reply = many, last_first
    reasoner = ScriptedWikiPrf(plan=plan)
    await ask_wiki_prf(reasoner, services)
    assert services.text_search.calls[-1].k == article_hits
    assert [call.query for call in services.reranker.calls] == [ranked_by]
    sections = reasoner.arguments["filter"].sections
    assert [item.score for item in sections] == sorted((item.score for item in sections), reverse=True)
    first = "a" if plan is CAPTION else "The"
    last = article_hits - 1
    assert [item.text for item in sections] == [f"Passage {last - n} of {first}." for n in range(3)]


async def test_sections_are_not_repeated() -> None:
    reasoner = ScriptedWikiPrf(plan=ToolPlan((*GROUND.calls, *CAPTION.calls)))
    await ask_wiki_prf(reasoner, with_crop())
    gathered = reasoner.arguments["filter"]
    assert len({item.text for item in gathered.sections}) == len(gathered.sections) == 2
    texts = [item.text for item in reasoner.arguments["answer"][1].evidence]
    assert len(set(texts)) == len(texts)


def test_gathered_evidence_is_bounded_without_repeats() -> None:
    pieces = tuple(page(f"{number} " + "x" * 996) for number in range(20))
    cut = Material((*pieces[:3], *pieces), (pieces[1], *pieces)).within(EVIDENCE_CHARS)
    assert cut.document == pieces[:5]
    assert [item.text[:2].strip() for item in cut.sections] == ["1", "0", "2", "3", "4"]
    assert sum(len(item.text) for item in cut.evidence) <= EVIDENCE_CHARS


async def test_the_answer_is_made_from_filtered_knowledge_and_cites_what_was_retrieved() -> None:
    reasoner = ScriptedWikiPrf(say=lambda context: best_first(context, PAGES))
    result = await ask_wiki_prf(reasoner, with_crop())
    knowledge, context = reasoner.arguments["answer"]
    assert knowledge == "It has 312 pages."
    assert all(knowledge != item.text for item in context.evidence)
    assert (result.outcome.reason, result.outcome.route) == (Reason.ANSWERED, Route.RAG)
    assert [citation.snippet for citation in result.outcome.citations] == [PAGES]
    assert result.notes("knowledge_filter") == ["It has 312 pages."]
    assert not result.services.verifier.calls
    assert not result.services.ocr.calls


async def test_knowledge_that_cannot_be_filtered_is_used_as_it_is() -> None:
    reasoner = ScriptedWikiPrf(failing={"filter": BROKEN})
    result = await ask_wiki_prf(reasoner)
    assert reasoner.arguments["answer"][0] is None
    assert result.outcome.reason is Reason.ANSWERED
    assert result.run.degraded == ["knowledge_filter"]


async def test_without_time_for_crops_the_full_photo_grounds() -> None:
    services = with_crop()
    plan = Plan(crops=0)
    result = await ask_wiki_prf(ScriptedWikiPrf(plan=GROUND), services, plan=plan)
    assert not services.cropper.calls
    assert pictures(services) == [PHOTO.jpeg]
    assert result.states("cropper") == ["skipped"]


async def test_without_a_photo_pages_are_searched_by_the_question_and_nothing_is_planned() -> None:
    reasoner = ScriptedWikiPrf()
    result = await ask_wiki_prf(reasoner, photo=None)
    assert "plan_tools" not in reasoner.arguments
    assert not result.services.image_search.calls
    assert not result.services.cropper.calls
    assert [call.queries for call in result.services.text_search.calls] == [[QUESTION]]
    assert [item.text for item in reasoner.arguments["filter"].sections] == [PAGES]
    assert (result.outcome.answer, result.run.degraded) == (PAGES, [])


def test_a_mirror_image_is_turned_left_to_right() -> None:
    turned = np.asarray(Image.open(io.BytesIO(mirror_jpeg(PHOTO.jpeg))).convert("RGB")).astype(int)
    assert turned.shape == (64, 96, 3)
    assert turned[32, 10, 2] > 150 > 80 > turned[32, 10, 0]  # the blue half is on the left now
    assert turned[32, 85, 0] > 150 > 80 > turned[32, 85, 2]


def test_corrupt_photo_cannot_be_mirrored() -> None:
    with pytest.raises(CorruptImage):
        mirror_jpeg(PHOTO.jpeg[:200])


async def test_without_evidence_nothing_is_filtered() -> None:
    services = FakeServices()
    services.find_nothing()
    result = await ask_wiki_prf(services=services)
    assert "filter" not in result.reasoner.arguments
    assert result.outcome.reason is Reason.NO_EVIDENCE
    assert result.run.degraded == []
