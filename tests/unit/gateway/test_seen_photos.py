"""Which services are sent the photo."""

import pytest

from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.pipelines import PHOTO, loreglass

pytestmark = pytest.mark.anyio


async def test_services_that_take_images_get_the_photo() -> None:
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


async def test_without_a_photo_they_get_the_text() -> None:
    services = FakeServices()
    services.takes = ("text", "image")
    await loreglass(services=services, photo=None)
    assert services.photos == [("text_search", None), ("reranker", None)]
