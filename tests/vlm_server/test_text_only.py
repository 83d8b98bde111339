"""A model without photos behind the whole gateway: what operators and the page are told."""

import pytest

from gateway.llm.capabilities import TEXT_ONLY, TEXT_ONLY_NOTE
from tests.unit.gateway.fakes import AUTHOR, BOOK, PAGES
from tests.unit.gateway.model_replies import UNKNOWN, replies
from tests.vlm_server import ServerTraits
from tests.vlm_server.cost import asking

pytestmark = pytest.mark.anyio


async def test_readiness_info_and_page_say_that_the_model_sees_no_photos() -> None:
    async with asking(replies(UNKNOWN), ServerTraits(photos=0)) as (client, server, ask):
        ready = await client.get("/health/ready")
        info = (await client.get("/info")).json()["model"]
        setup = (await client.get("/page/setup.json")).json()
        answer = await ask("Who wrote it?")
    assert (ready.status_code, ready.json()["checks"]["vlm"]) == (200, TEXT_ONLY_NOTE)
    assert (info["name"], info["photos"]) == (server.model, TEXT_ONLY)
    assert setup["sees_photos"] is False
    assert not answer.degraded
    assert [len(request.images) for request in server.questions] == [0] * len(server.questions)


async def test_a_model_that_sees_no_photos_answers_from_print_name_and_pages_without_a_draft() -> None:
    async with asking(replies(UNKNOWN), ServerTraits(photos=0)) as (_, server, ask):
        answer = await ask("Who wrote this book?")
    assert answer.answer == AUTHOR
    assert {request.name for request in server.questions} <= {"answer", "judge"}
    text = server.questions[0].text
    assert f"<<<the thing asked about>>>\n{BOOK}\n" in text
    for known in (AUTHOR, PAGES, "THE SALT ROAD"):
        assert known in text
    assert "The question is about" not in text  # the services' draft


async def test_readiness_says_what_to_do_about_a_server_that_is_set_up_wrong() -> None:
    async with asking({}, ServerTraits(key="another"), probed=False) as (client, *_):
        ready = await client.get("/health/ready")
    assert ready.status_code == 503
    assert "vlm (dependency_unavailable: the model's server wants another key)" in ready.json()["detail"]
