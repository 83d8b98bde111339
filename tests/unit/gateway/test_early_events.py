"""What is reported beside the answer: the entity, the regions of the photo, and advice."""

import pytest

from contracts.answer import Reason
from contracts.collections import Collections
from contracts.cropper import CropReply
from contracts.ocr import OcrReply
from tests.unit.gateway.fakes import (
    BOOK,
    FakeServices,
    Mood,
    crop_region,
    found_in_second_crop,
    image_hit,
    images,
    pages,
    text_line,
)
from tests.unit.gateway.platform import PHOTO, World, gateway_before
from tests.unit.gateway.reasoners import unsure
from tests.unit.gateway.test_streaming import STREAM, events_of, stream

pytestmark = pytest.mark.anyio


async def test_the_entity_is_reported_before_pages_are_searched(world: World) -> None:
    events = await stream(world)
    [place] = [place for place, (name, _) in enumerate(events) if name == "identified"]
    assert events[place][1] == {"entity": BOOK, "sentence": f"This is {BOOK}."}
    later = [data["stage"] for name, data in events[place:] if name == "stage"]
    assert {"text_search", "reranker", "answer", "verifier"} <= set(later)
    final = events[-1][1]
    assert final["entity"] == BOOK
    assert final["timings_ms"]["first_word"] < final["timings_ms"]["total"]


async def test_an_uncertain_entity_is_not_reported_early(services: FakeServices) -> None:
    services.image_search.reply = images(image_hit(score=0.7))
    async with gateway_before(services) as world:
        events = await stream(world)
    assert "identified" not in {name for name, _ in events}
    final = events[-1][1]
    assert final["entity"] == BOOK
    assert final["timings_ms"]["first_word"] == final["timings_ms"]["total"]


async def test_a_follow_up_does_not_report_the_entity_again(world: World) -> None:
    session = (await world.ask()).session_id
    reply = await world.client.post(
        "/answer", headers=STREAM, json={"question": "How long is it?", "session_id": session}
    )
    assert "identified" not in {name for name, _ in events_of(reply.text)}


async def test_stage_events_have_the_time_left(world: World) -> None:
    reply = await world.client.post(
        "/answer", headers=STREAM, files={"image": PHOTO}, data={"question": "Who?", "deadline_ms": "50000"}
    )
    left = [data["left_ms"] for name, data in events_of(reply.text) if name == "stage"]
    assert left == sorted(left, reverse=True)
    assert all(0 < each <= 50_000 for each in left)


async def test_regions_are_fractions_of_the_photo(services: FakeServices) -> None:
    services.image_search.reply = found_in_second_crop
    regions = [crop_region(PHOTO), crop_region(PHOTO, left=40)]
    services.cropper.reply = CropReply(regions=regions, width=100, height=50)
    async with gateway_before(services) as world:
        answer = await world.ask()
    crops = [each for each in answer.looked_at if each.kind == "crop"]
    places = [(each.left, each.top, each.right, each.bottom) for each in crops]
    assert places == [(0.0, 0.0, 0.1, 0.2), (0.4, 0.0, 0.5, 0.2)]
    assert [each.shows_entity for each in crops] == [False, True]
    assert answer.entity == BOOK
    [text] = [each for each in answer.looked_at if each.kind == "text"]
    assert (text.text, text.left, text.bottom) == ("THE SALT ROAD", pytest.approx(10 / 96, abs=1e-3), 0.25)


async def test_the_list_of_regions_is_bounded(services: FakeServices) -> None:
    lines = [text_line("word " * 100, row) for row in range(500)]
    services.ocr.reply = OcrReply(lines=lines, width=96, height=64)
    async with gateway_before(services) as world:
        answer = await world.ask()
    assert len(answer.looked_at) == 64
    assert max(len(each.text) for each in answer.looked_at) == 200
    assert all(0 <= each.top <= each.bottom <= 1 for each in answer.looked_at)


async def test_small_print_gets_advice_about_print(services: FakeServices) -> None:
    services.find_nothing()
    services.ocr.reply = OcrReply(lines=[text_line("THE SALT ROAD")], width=4_000, height=3_000)
    async with gateway_before(services, unsure()) as world:
        answer = await world.ask()
    assert "print" in answer.advice


async def test_advice_names_an_entity_without_pages(services: FakeServices) -> None:
    services.text_search.reply = pages()
    services.image_search.reply = images(image_hit().model_copy(update={"attributes": {}}))
    async with gateway_before(services, unsure(Reason.NO_EVIDENCE)) as world:
        answer = await world.ask()
    assert (answer.reason, answer.entity) == ("no_evidence", BOOK)
    assert answer.advice == f"Index a page about {BOOK}, or ask for something else."


async def test_advice_follows_the_reason(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        assert (await world.ask()).advice == ""
        services.find_nothing()
        unseen = await world.ask()
        assert (unseen.abstained, "closer" in unseen.advice) == (True, True)
        services.collections.reply = Collections(collections=[])
        empty = await world.ask()
        assert (empty.reason, "indexed" in empty.advice) == ("nothing_indexed", True)
        services.text_search.mood = Mood.CRASHES
        broken = await world.ask()
        assert (broken.reason, broken.advice) == ("unavailable", "Ask again in a minute.")
