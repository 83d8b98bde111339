"""Every production engine at once, from an index to a cited answer: tiny models of CLIP, BERT,
Grounding-DINO, BLIP-2 and Qwen3, and a scripted vision-language model.

What random weights rank and route is noise, so their cut-offs are set to let everything through; which
service was asked for what, with the photo or without it, is not.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from bench.node import RunningServer, vlm_server
from contracts.answer import Answer, Route
from contracts.domain_router import Domain
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.one_process import Platform, platform
from deploy.settings import LiteSettings
from tests.models.tiny_bge import tiny_bge
from tests.models.tiny_blip2 import tiny_blip2
from tests.models.tiny_clip import tiny_clip
from tests.models.tiny_domain import trained, write_domains
from tests.models.tiny_gdino import tiny_gdino
from tests.models.tiny_qwen3 import tiny_qwen3
from tests.models.tiny_reader import tiny_reader
from tests.unit.gateway.asking import UNKNOWN, replies
from tests.unit.gateway.fakes import AUTHOR, BOOK
from training.heads.domain_router import CHECKPOINT, train_domain_router
from training.heads.settings import DomainRouterConfig, Recipe

PAGE = f"<html><body><article><h1>{BOOK}</h1><p>{AUTHOR} He wrote it in 1987.</p></article></body></html>"


@dataclass(frozen=True)
class Running:
    """The platform, its model server, and the photo that is indexed."""

    platform: Platform
    vlm: RunningServer
    photo: bytes

    async def ask(self, question: str, pipeline: str) -> Answer:
        async with httpx.AsyncClient(base_url=self.platform.gateway_url, timeout=120) as client:
            form = {"question": question, "pipeline": pipeline, "deadline_ms": "60000"}
            reply = await client.post("/answer", files={"image": ("p.jpg", self.photo)}, data=form)
        assert reply.status_code == 200, reply.text
        return Answer.model_validate_json(reply.content)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What an operator would set for the production engines."""
    folder = tmp_path_factory.mktemp("weights")
    blip2 = tiny_blip2(folder / "blip2")
    recipe = Recipe(epochs=20, patience=10, learning_rate=1e-2)
    domains = write_domains(folder / "domains", each=8)
    config = DomainRouterConfig(head="domain-router", data=(domains,), model=str(blip2), recipe=recipe)
    run = trained(train_domain_router, config, folder / "run")
    return {
        "DOMAIN_ROUTER_ENGINE": "blip2",
        "DOMAIN_ROUTER_HEAD": str(run.path / CHECKPOINT),
        "CROPPER_ENGINE": "grounding_dino",
        "CROPPER_MODEL": str(tiny_gdino(folder / "gdino")),
        "IMAGE_SEARCH_ENGINE": "clip",
        "IMAGE_SEARCH_MODEL": str(tiny_clip(folder / "clip").folder),
        "TEXT_SEARCH_ENGINE": "bge",
        "TEXT_SEARCH_MODEL": str(tiny_bge(folder / "bge")),
        "RERANKER_ENGINE": "cascade",
        "RERANKER_COARSE_MODEL": str(blip2),
        "RERANKER_FINE_MODEL": str(tiny_qwen3(folder / "qwen3")),
        "RERANKER_COARSE_THRESHOLD": "0",
        "RERANKER_FINE_THRESHOLD": "0",
        "VERIFIER_ENGINE": "white_box",
        "READER_ENGINE": "extractive",
        "READER_MODEL": str(tiny_reader(folder / "reader")),
        "GATEWAY_REASONING": "vlm",
        "GATEWAY_PHOTO_TO_DOMAIN_ROUTER": "true",
        "GATEWAY_PHOTO_TO_RERANKER": "true",
    }


@pytest.fixture
async def running(
    engines: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Running]:
    for name, value in engines.items():
        monkeypatch.setenv(f"LOREGLASS_{name}", value)
    async with vlm_server(replies(UNKNOWN, label="poster")) as vlm:
        monkeypatch.setenv("LOREGLASS_GATEWAY_VLM_URL", vlm.url)
        monkeypatch.setenv("LOREGLASS_GATEWAY_VLM_MODEL", vlm.model)
        settings = LiteSettings(port=0, service_port=0, data_dir=tmp_path / "data")
        async with platform(settings) as started:
            yield Running(started, vlm, await indexed(started, tmp_path))


async def indexed(started: Platform, folder: Path) -> bytes:
    """One book in the image index and its page in the text index; returns the book's photo."""
    photo = folder / "book.jpg"
    pixels = np.random.default_rng(3).integers(0, 255, (12, 9, 3), np.uint8)
    Image.fromarray(pixels).resize((360, 480), Image.Resampling.NEAREST).save(photo, quality=95)
    images, pages = folder / "images.jsonl", folder / "pages.jsonl"
    write(images, {"photo": photo.name, "entity": BOOK, "attributes": {"language": "English"}})
    write(pages, {"url": "https://books.example/salt", "title": BOOK, "html": PAGE})
    seen = await ingest_photos(images, started.service_urls["image_search"], IngestOptions())
    read = await ingest_pages(pages, started.service_urls["text_search"], IngestOptions())
    assert (seen.indexed, read.indexed) == (1, 1)
    return photo.read_bytes()


def write(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")


async def test_all_production_engines_answer_together(running: Running) -> None:
    async with httpx.AsyncClient() as client:
        for name, url in running.platform.service_urls.items():
            info = (await client.get(f"{url}/info")).json()
            assert (info["service"], info["device"]) == (name, "cpu")
        ready = await client.get(f"{running.platform.gateway_url}/health/ready")
        assert ready.status_code == 200, ready.text
        assert ready.json()["checks"]["vlm"] == "ok"

        answer = await running.ask("Who wrote this?", "loreglass")
        assert answer.degraded == []
        assert (answer.route, answer.entity, answer.abstained) == (Route.RAG, BOOK, False)
        assert answer.answer == AUTHOR
        assert [citation.url for citation in answer.citations] == ["https://books.example/salt"]
        assert answer.domain in set(Domain)
        assert [request.name for request in running.vlm.questions] == ["understand", "answer"]
        gateway = (await client.get(f"{running.platform.gateway_url}/metrics")).text
        batched = [
            name
            for name, url in running.platform.service_urls.items()
            if "loreglass_batch_items_count{" in (await client.get(f"{url}/metrics")).text
        ]
    assert 'loreglass_vlm_calls_total{model="vlm",outcome="ok",prompt="answer"} 1.0' in gateway
    assert 'loreglass_vlm_first_token_seconds_count{model="vlm",prompt="understand"} 1.0' in gateway
    assert {"cropper", "domain_router", "image_search", "reranker", "text_search"} <= set(batched)

    answer = await running.ask("Who wrote this?", "qa-dragon")  # asks the model once a step
    assert answer.degraded == []
    assert (answer.route, answer.entity, answer.abstained) == (Route.RAG, BOOK, False)
    calls = Counter(request.name for request in running.vlm.questions[2:])
    assert set(calls.values()) == {1}
    assert calls.total() == 9
