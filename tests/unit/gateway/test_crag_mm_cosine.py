"""CRAG-MM's limit of .75 applies to cosines: known vectors through image search and pipeline."""

import base64
import io
import json
import math
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from chassis.http.serving import BoundApp, listen, running
from contracts.image_search import ImageSearchReply
from services.image_search.app import create_app
from services.image_search.settings import ImageSearchSettings
from tests.live import live
from tests.unit.gateway.baselines import asked
from tests.unit.gateway.fakes import FakeServices
from tests.unit.services.image_embedding_server import HEAD, MODEL, EmbeddingServer

pytestmark = pytest.mark.anyio

STEP = 40
COSINES = {0: 1.0, 40: 0.95, 80: 0.76, 120: 0.74, 160: 0.2}
"""Grey level to the cosine between its vector and that of black."""


class GreyServer(EmbeddingServer):
    """Embeds plain grey pictures so that their cosines are known."""

    def _vectors(self, uris: Sequence[str]) -> list[list[float]]:
        cosines = [COSINES[_level(uri)] for uri in uris]
        return [[cosine, math.sqrt(1 - cosine**2)] for cosine in cosines]


def _level(uri: str) -> int:
    with Image.open(io.BytesIO(base64.b64decode(uri.removeprefix(HEAD)))) as picture:
        level = float(np.asarray(picture).mean())
    return min(STEP * round(level / STEP), max(COSINES))


def grey(level: int) -> tuple[str, bytes, str]:
    """A plain picture as a form's file."""
    held = io.BytesIO()
    Image.new("RGB", (64, 64), (level, level, level)).save(held, "PNG")
    return "grey.png", held.getvalue(), "image/png"


async def search_for_black(folder: Path) -> ImageSearchReply:
    """Return the hits for black among greys that are named by their cosine."""
    behind = BoundApp(GreyServer().app(), listen("127.0.0.1", 0))
    options = ImageSearchSettings(
        port=0, data_dir=folder, engine="remote", remote_url=behind.url, remote_model=MODEL
    )
    known = {level: cosine for level, cosine in COSINES.items() if level}
    items = [{"id": str(uuid.UUID(int=level)), "entity": str(cosine)} for level, cosine in known.items()]
    async with running([behind]), live(create_app(options)) as client:
        await client.post("/v1/collections", json={"name": "v"})
        files = [("images", grey(level)) for level in known]
        await client.put(
            "/v1/collections/v/images", files=files, data={"items": json.dumps({"items": items})}
        )
        await client.post("/v1/aliases", json={"alias": "images", "collection": "v"})
        found = await client.post("/v1/image-search", files={"images": grey(0)}, data={"k": "30"})
    return ImageSearchReply.model_validate_json(found.content)


async def test_pipeline_keeps_hits_whose_cosine_is_at_least_75_hundredths(
    tmp_path: Path,
) -> None:
    services = FakeServices()
    services.image_search.reply = reply = await search_for_black(tmp_path)
    assert [hit.cosine for hit in reply.hits] == pytest.approx([0.95, 0.76, 0.74, 0.2], abs=1e-3)
    result = await asked("crag-mm-task-2", services=services)
    _, found = result.reader.given("answer_from")
    assert [thing.name for thing in found.things] == ["0.95", "0.76"]
    assert 0.5 < found.things[1].probability < 0.75
