"""The pocket profile fits together: ports, settings, start-up messages and experiments."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from chassis.http.serving import listen
from corpus.ingest import IngestOptions, ingest_pages
from deploy.inventory import APPS
from deploy.one_process import Platform, gateway_settings_for, greeting, platform
from deploy.settings import PocketSettings
from tests.unit.chassis.pictures import encoded, scene

ROOT = Path(__file__).resolve().parents[2]
SERVICES = sorted((app for app in APPS if app.name != "gateway"), key=lambda app: app.port)


async def test_an_empty_platform_is_ready_and_says_that_it_knows_nothing(tmp_path: Path) -> None:
    settings = PocketSettings(port=0, service_port=0, data_dir=tmp_path)
    with capture_logs() as lines:
        async with platform(settings) as running, httpx.AsyncClient(timeout=60) as client:
            await _check_empty_platform(running, client)
    (line,) = [line for line in lines if line["event"] == "started"]
    assert line["services"] == running.service_urls


async def test_service_ports_refuse_writes_without_the_token_that_only_this_user_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    page = tmp_path / "docs" / "mill.md"
    page.parent.mkdir()
    page.write_text("The mill is red.")
    settings = PocketSettings(port=0, service_port=0, data_dir=tmp_path / "data")
    async with platform(settings) as running, httpx.AsyncClient(timeout=60) as client:
        url = running.service_urls["text_search"]
        alias = {"alias": "pages", "collection": "pages-1"}
        stranger = await client.post(f"{url}/v1/aliases", json=alias)
        listing = await client.get(f"{url}/v1/collections/pages/documents")
        report = await ingest_pages(page, url, IngestOptions())
        reply = await client.post(f"{url}/v1/text-search", json={"queries": ["mill"]})
        files = list((tmp_path / "state").rglob("write-token-*"))
        modes = [each.stat().st_mode & 0o777 for each in files]
    assert (stranger.status_code, listing.status_code) == (401, 401)
    assert (report.added, len(reply.json()["hits"])) == (1, 1)
    assert modes == [0o600, 0o600]
    assert not any(each.exists() for each in files)


async def _check_empty_platform(running: Platform, client: httpx.AsyncClient) -> None:
    ready = await client.get(f"{running.gateway_url}/health/ready")
    infos = [(await client.get(f"{url}/info")).json() for url in running.service_urls.values()]
    photo = encoded(scene(320, 240), "JPEG")
    form = {"question": "Who wrote this book?"}
    reply = await client.post(f"{running.gateway_url}/answer", data=form, files={"image": photo})
    listed = await client.get(f"{running.gateway_url}/operator/photos")
    setup = await client.get(f"{running.gateway_url}/page/setup.json")
    nowhere_else = await client.get(f"{running.service_urls['image_search']}/operator/photos")
    assert set(ready.json()["checks"].values()) == {"ok"}
    assert [info["service"] for info in infos] == [app.name for app in SERVICES]
    assert {info["engine"] for info in infos} == {"bm25", "builtin"}
    assert reply.json()["abstained"] is True
    assert listed.json() == {"total": 0, "parts": 0, "found": 0, "items": []}
    assert setup.json()["operator"] is True
    assert nowhere_else.status_code == 404


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
    assert "--port" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("host", "keys", "warned"),
    [("127.0.0.1", None, False), ("0.0.0.0", None, True), ("0.0.0.0", Path("keys.toml"), False)],
)
def test_a_gateway_that_is_open_to_the_network_without_keys_is_warned_about(
    host: str, keys: Path | None, warned: bool
) -> None:
    text = greeting(Platform("http://192.0.2.7:7100", {}), host, keys)
    assert text.startswith("Loreglass answers at http://192.0.2.7:7100")
    assert ("Warning: everybody who can reach 0.0.0.0" in text) is warned


SETTING = "LOREGLASS_GATEWAY_EXPERIMENTS"


@pytest.mark.parametrize(
    ("host", "experiments", "allowed"),
    [
        ("127.0.0.1", None, True),
        ("::1", None, True),
        ("127.0.0.1", "false", False),
        ("0.0.0.0", None, False),
        ("0.0.0.0", "true", True),
    ],
)
def test_the_pocket_platform_allows_them_where_only_this_machine_asks(
    monkeypatch: pytest.MonkeyPatch, host: str, experiments: str | None, allowed: bool
) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    if experiments is not None:
        monkeypatch.setenv(SETTING, experiments)
    assert gateway_settings_for(host).experiments is allowed
