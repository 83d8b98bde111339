"""Which services are sent the photo."""

import pytest

from gateway.state import Photo
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.pipelines import PHOTO, loreglass

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("takes", "photo", "sent"),
    [(("text", "image"), PHOTO, PHOTO.jpeg), (("text",), PHOTO, None), (("text", "image"), None, None)],
    ids=["takes images", "takes texts", "no photo"],
)
async def test_services_that_take_images_get_the_photo_if_there_is_one(
    takes: tuple[str, ...], photo: Photo | None, sent: bytes | None
) -> None:
    services = FakeServices()
    services.takes = takes
    await loreglass(services=services, photo=photo)
    assert services.photos == [("text_search", sent), ("reranker", sent)]
