"""The pocket profile fits together: ports, settings, start-up messages and experiments."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from bench.settings import environment
from chassis.http.serving import listen
from corpus.ingest import IngestOptions, ingest_pages
from deploy.inventory import APPS
from deploy.one_process import Platform, gateway_settings_for, greeting, platform
from deploy.settings import LiteSettings
from tests.unit.chassis.pictures import encoded, scene

SERVICES = sorted((app for app in APPS if app.name != "gateway"), key=lambda app: app.port)


async def test_empty_platform_is_ready_and_reports_no_index(tmp_path: Path) -> None:
    settings = LiteSettings(port=0, service_port=0, data_dir=tmp_path)
    photo, form = encoded(scene(320, 240), "JPEG"), {"question": "Who wrote this book?"}
    async with platform(settings) as running, httpx.AsyncClient(timeout=60) as client:
        infos = [(await client.get(f"{url}/info")).json() for url in running.service_urls.values()]
        nowhere_else = await client.get(f"{running.service_urls['image_search']}/operator/photos")
        client.base_url = httpx.URL(running.gateway_url)
        ready = await client.get("/health/ready")
        reply = await client.post("/answer", data=form, files={"image": photo})
        listed = await client.get("/operator/photos")
        setup = await client.get("/page/setup.json")
        invitation = await client.post("/operator/invitations")
    assert set(ready.json()["checks"].values()) == {"ok"}
    assert [info["service"] for info in infos] == [app.name for app in SERVICES]
    assert {info["engine"] for info in infos} == {"bm25", "builtin"}
    assert reply.json()["abstained"] is True
    assert listed.json() == {"total": 0, "parts": 0, "found": 0, "items": []}
    assert setup.json()["operator"] is True
    assert nowhere_else.status_code == 404
    assert invitation.status_code == 501  # the server listens on loopback only
    assert "loreglass serve --lan" in invitation.json()["detail"]


async def test_service_ports_refuse_writes_without_the_local_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    page = tmp_path / "docs" / "mill.md"
    page.parent.mkdir()
    page.write_text("The mill is red.")
    settings = LiteSettings(port=0, service_port=0, data_dir=tmp_path / "data")
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


def test_a_taken_port_ends_the_process_with_advice(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as occupied:
        port = str(occupied.getsockname()[1])
        variables = {
            "LOREGLASS_PORT": port,
            "LOREGLASS_SERVICE_PORT": "0",
            "LOREGLASS_DATA_DIR": str(tmp_path),
        }
        command = [sys.executable, "-m", "deploy.one_process"]
        ended = subprocess.run(command, env=environment(variables), capture_output=True, text=True)
    assert ended.returncode == 1
    assert "--port" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("host", "keys", "warned"),
    [("127.0.0.1", None, False), ("0.0.0.0", None, True), ("0.0.0.0", Path("keys.toml"), False)],
)
def test_gateway_open_to_the_network_without_keys_warns(host: str, keys: Path | None, warned: bool) -> None:
    text = greeting(Platform("http://192.0.2.7:7100", {}), host, keys)
    assert text.startswith("Loreglass answers at http://192.0.2.7:7100")
    assert ("Warning: everybody who can reach 0.0.0.0" in text) is warned


def test_experiments_are_on_by_default_only_on_loopback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unset = [gateway_settings_for(host).experiments for host in ("127.0.0.1", "::1", "0.0.0.0")]
    monkeypatch.setenv("LOREGLASS_GATEWAY_EXPERIMENTS", "false")
    forbidden = gateway_settings_for("127.0.0.1").experiments
    monkeypatch.setenv("LOREGLASS_GATEWAY_EXPERIMENTS", "true")
    assert (unset, forbidden) == ([True, True, False], False)
    assert gateway_settings_for("0.0.0.0").experiments
