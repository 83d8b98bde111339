"""Which services are sent the photo."""

import pytest

from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.pipelines import PHOTO, loreglass

pytestmark = pytest.mark.anyio


async def test_search_and_ranking_get_the_photo_if_they_say_that_they_take_it() -> None:
    services = FakeServices()
    services.takes = ("text", "image")
    result = await loreglass(services=services)
    assert services.photos == [("text_search", PHOTO.jpeg), ("reranker", PHOTO.jpeg)]
    assert result.outcome.citations


async def test_services_that_take_texts_get_no_photo() -> None:
    services = FakeServices()
    services.takes = ("text",)
    await loreglass(services=services)
    assert services.photos == [("text_search", None), ("reranker", None)]


async def test_a_question_without_a_photo_is_a_text() -> None:
    services = FakeServices()
    services.takes = ("text", "image")
    await loreglass(services=services, photo=None)
    assert services.photos == [("text_search", None), ("reranker", None)]
