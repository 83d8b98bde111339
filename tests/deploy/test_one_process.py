"""The pocket profile fits together: ports, settings and start-up messages."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from chassis.http.serving import listen
from chassis.vectors.edge import EdgeStore
from corpus.settings import CorpusSettings
from deploy.one_process import platform
from deploy.settings import PocketSettings, one_thread_each
from gateway.settings import GatewaySettings
from services.cropper.settings import CropperSettings
from services.domain_router.settings import DomainRouterSettings
from services.image_search.settings import ImageSearchSettings
from services.ocr.settings import OcrSettings
from services.reader.settings import ReaderSettings
from services.reranker.settings import RerankerSettings
from services.text_search.settings import TextSearchSettings
from services.verifier.settings import VerifierSettings
from tests.unit.chassis.pictures import encoded, scene

ROOT = Path(__file__).resolve().parents[2]
PORTS = {
    "ocr": OcrSettings().port,
    "cropper": CropperSettings().port,
    "image_search": ImageSearchSettings().port,
    "text_search": TextSearchSettings().port,
    "reranker": RerankerSettings().port,
    "domain_router": DomainRouterSettings().port,
    "verifier": VerifierSettings().port,
    "reader": ReaderSettings().port,
}


@pytest.mark.parametrize("name", PORTS)
def test_the_gateway_looks_for_a_service_where_it_listens(name: str) -> None:
    assert urlsplit(getattr(GatewaySettings(), f"{name}_url")).port == PORTS[name]


def test_no_two_apps_listen_on_one_port() -> None:
    assert len({*PORTS.values(), GatewaySettings().port}) == len(PORTS) + 1


def test_the_one_process_uses_the_same_ports_as_separate_services() -> None:
    settings = PocketSettings()
    assert [settings.service_port + place for place in range(len(PORTS))] == sorted(PORTS.values())
    assert settings.port == GatewaySettings().port


def test_indexing_writes_to_the_services_that_the_gateway_asks() -> None:
    corpus, gateway = CorpusSettings(), GatewaySettings()
    assert corpus.image_search_url == gateway.image_search_url
    assert corpus.text_search_url == gateway.text_search_url


def test_a_variable_of_the_environment_changes_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_MAX_IN_FLIGHT", "3")
    monkeypatch.setenv("LOREGLASS_OCR_PORT", "9999")
    assert GatewaySettings().max_in_flight == 3
    assert OcrSettings().port == 9999


@pytest.mark.anyio
async def test_an_empty_platform_is_ready_and_says_that_it_knows_nothing(tmp_path: Path) -> None:
    settings = PocketSettings(port=0, service_port=0, data_dir=tmp_path)
    async with platform(settings) as running, httpx.AsyncClient(timeout=60) as client:
        ready = await client.get(f"{running.gateway_url}/health/ready")
        infos = [(await client.get(f"{url}/info")).json() for url in running.service_urls.values()]
        photo = encoded(scene(320, 240), "JPEG")
        form = {"question": "Who wrote this book?"}
        reply = await client.post(f"{running.gateway_url}/answer", data=form, files={"image": photo})
        listed = await client.get(f"{running.gateway_url}/operator/photos")
        setup = await client.get(f"{running.gateway_url}/page/setup.json")
        nowhere_else = await client.get(f"{running.service_urls['image_search']}/operator/photos")
    assert set(ready.json()["checks"].values()) == {"ok"}
    assert [info["service"] for info in infos] == sorted(PORTS, key=lambda name: PORTS[name])
    assert {info["engine"] for info in infos} == {"pocket", "builtin"}
    assert reply.json()["abstained"] is True
    assert listed.json() == {"total": 0, "parts": 0, "found": 0, "items": []}
    assert setup.json()["operator"] is True
    assert nowhere_else.status_code == 404


@pytest.mark.anyio
async def test_the_platform_s_log_begins_with_what_it_is_made_of(tmp_path: Path) -> None:
    settings = PocketSettings(port=0, service_port=0, data_dir=tmp_path)
    with capture_logs() as lines:
        async with platform(settings) as running:
            with anyio.fail_after(60):
                while not any(line["event"] == "started" for line in lines):
                    await anyio.lowlevel.checkpoint()
    (line,) = [line for line in lines if line["event"] == "started"]
    assert line["silent"] == []
    assert {name: told["url"] for name, told in line["services"].items()} == running.service_urls
    assert {told["engine"] for told in line["services"].values()} == {"pocket", "builtin"}
    assert line["indexed"] == {}


def test_a_taken_port_ends_the_process_with_advice(tmp_path: Path) -> None:
    taken = listen("127.0.0.1", 0)
    environment = {
        "LOREGLASS_PORT": str(taken.getsockname()[1]),
        "LOREGLASS_SERVICE_PORT": "0",
        "LOREGLASS_DATA_DIR": str(tmp_path),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}",
    }
    command = [sys.executable, "-m", "deploy.one_process"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    taken.close()
    assert ended.returncode == 1
    assert "LOREGLASS_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_two_platforms_do_not_share_one_index(tmp_path: Path) -> None:
    """The embedded store belongs to one process: the second one says so instead of harming it."""
    environment = {
        "LOREGLASS_TEXT_SEARCH_PORT": "0",
        "LOREGLASS_TEXT_SEARCH_DATA_DIR": str(tmp_path),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}",
    }
    store = EdgeStore(tmp_path)
    command = [sys.executable, "-m", "services.text_search"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    store.close()
    assert ended.returncode != 0
    assert "Another process has this vector store open." in ended.stderr


def test_the_listening_address_is_loopback_unless_it_is_said_otherwise() -> None:
    for settings in (GatewaySettings(), OcrSettings(), VerifierSettings()):
        assert socket.inet_aton(settings.host)[0] == 127


def test_numeric_libraries_have_a_thread_each_unless_the_environment_says_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    one_thread_each()
    assert (os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"]) == ("4", "1")
