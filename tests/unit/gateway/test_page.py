"""The page under a strict content policy, and which sites' pages may ask."""

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from chassis.keys import ApiKey
from contracts.collections import Collections
from gateway.routes.page import FOLDER, read_files
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.platform import QUESTION, World, bearer, gateway_before, keys_file

_ICON = re.compile(r'icons\.svg#(\w+)"|icon\("(\w+)"\)')
_TEXTS = (".html", ".js", ".css", ".svg", ".webmanifest")


async def test_content_policy_allows_only_this_server(world: World) -> None:
    reply = await world.client.get("/")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
    assert "unsafe" not in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"


async def test_every_referenced_file_exists(world: World) -> None:
    named: set[str] = {"/page/recorder.js"}
    for path in FOLDER.rglob("*"):
        if path.suffix in _TEXTS:
            named |= set(re.findall(r"\"(/page/[\w./-]+)", path.read_text()))
            named |= {f"/page/{name}" for name in re.findall(r"from \"\./([\w.]+)\"", path.read_text())}
    assert len(named) > 20
    statuses = {address: (await world.client.get(address)).status_code for address in sorted(named)}
    assert set(statuses.values()) == {200}, statuses


def test_every_used_icon_exists() -> None:
    drawn = set(re.findall(r'symbol id="(\w+)"', (FOLDER / "icons.svg").read_text()))
    used: set[str] = set()
    for path in [*FOLDER.glob("*.js"), FOLDER / "index.html"]:
        used |= {one or other for one, other in re.findall(_ICON, path.read_text())}
    assert len(used) > 15
    assert used <= drawn


async def test_unchanged_file_is_not_sent_again(world: World) -> None:
    worker = await world.client.get("/page/sw.js")
    assert worker.headers["service-worker-allowed"] == "/"
    first = await world.client.get("/page/main.js")
    assert first.headers["cache-control"] == "no-cache"
    again = await world.client.get("/page/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = await world.client.get("/page/main.js", headers={"If-None-Match": '"another"'})
    assert other.content == first.content


async def test_text_is_compressed_on_request(world: World) -> None:
    async with httpx.AsyncClient(base_url=world.url) as client:
        async with client.stream("GET", "/page/style.css", headers={"Accept-Encoding": "gzip"}) as reply:
            packed = b"".join([piece async for piece in reply.aiter_raw()])
        plain = await client.get("/page/style.css", headers={"Accept-Encoding": "identity"})
    assert reply.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == plain.content == (FOLDER / "style.css").read_bytes()


async def test_other_files_are_not_served(world: World) -> None:
    for name in ("../settings.py", "%2e%2e/settings.py", "..%2fsettings.py", "nothing.js", ""):
        reply = await world.client.get(f"/page/{name}")
        assert (reply.status_code, reply.json()["type"]) == (404, "urn:loreglass:problem:not_found")


def test_service_worker_lists_every_file_and_changes_with_each(tmp_path: Path) -> None:
    for name, content in {"index.html": "a", "sw.js": "work();", "main.js": "b", "vendor/x.js": "c"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    before = read_files(tmp_path)["sw.js"]
    assert b'["/", "/page/main.js", "/page/vendor/x.js"]' in before.content
    assert before.content.endswith(b"work();")
    (tmp_path / "vendor/x.js").write_text("d")
    assert read_files(tmp_path)["sw.js"].etag != before.etag


async def test_page_setup_has_the_gateways_features(services: FakeServices, tmp_path: Path) -> None:
    keys = keys_file(tmp_path, anna=ApiKey.new())
    async with gateway_before(services, answer_deadline_ms=7_000, keys=keys) as world:
        full = (await world.client.get("/page/setup.json")).json()
        services.collections.reply = Collections(collections=[])
        empty = (await world.client.get("/page/setup.json")).json()
        services.collections.mood = Mood.CRASHES
        unknown = (await world.client.get("/page/setup.json")).json()
    own = {"voice": False, "empty": False, "deadline_ms": 7_000, "operator": False, "sees_photos": True}
    assert full == {**own, "memory_days": None}
    assert (empty["empty"], unknown["empty"]) == (True, False)


def test_manifest_icons_have_their_sizes() -> None:
    icons = json.loads((FOLDER / "manifest.webmanifest").read_text())["icons"]
    for icon in icons:
        path = FOLDER / icon["src"].removeprefix("/page/")
        if path.suffix == ".png":
            with Image.open(path) as picture:
                assert f"{picture.width}x{picture.height}" == icon["sizes"]
    assert {"any", "192x192", "512x512"} <= {icon["sizes"] for icon in icons}


PAGE = "https://museum.example"
LOCAL = "http://localhost:3000"


async def ask(world: World, **headers: str) -> httpx.Response:
    return await world.client.post("/answer", json={"question": QUESTION}, headers=headers)


async def test_a_named_page_reads_answers(services: FakeServices) -> None:
    async with gateway_before(services, origins=(PAGE,)) as world:
        reply = await ask(world, Origin=PAGE)
        asking = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
        before = await world.client.options("/answer", headers=asking)
        other = await ask(world, Origin="https://other.example")
    assert (reply.status_code, before.status_code, other.status_code) == (200, 200, 403)
    assert reply.headers["access-control-allow-origin"] == PAGE


async def test_another_site_s_page_may_not_use_a_gateway_without_keys(world: World) -> None:
    for path in ("/answer", "/v1/chat/completions", "/health/live", "/", "/v1/models"):
        for headers in ({"Origin": PAGE}, {"Origin": "null"}, {"Host": "evil.example:7100"}):
            reply = await world.client.get(path, headers=headers)
            assert reply.status_code == 403, (path, headers)
            assert reply.json()["type"].endswith("foreign_page")
            assert reply.json()["trace_id"]


THIS_MACHINE: tuple[dict[str, str], ...] = (
    {},
    {"Origin": LOCAL},
    {"Host": "192.168.1.20:7100", "Origin": "http://192.168.1.20:7100"},
    {"Host": "gateway:7100"},
    {"Host": "x"},
)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({}, THIS_MACHINE),
        ({"hosts": ("laptop.local",)}, [{"Host": "laptop.local", "Origin": "https://laptop.local"}]),
        ({"origins": ("*",)}, [{"Origin": "null"}]),
    ],
)
async def test_loopback_and_configured_origins_are_allowed(
    services: FakeServices, settings: dict[str, Any], allowed: Sequence[dict[str, str]]
) -> None:
    async with gateway_before(services, **settings) as world:
        for headers in allowed:
            assert (await ask(world, **headers)).status_code == 200, headers


async def test_gateway_with_keys_accepts_any_host_name(services: FakeServices, tmp_path: Any) -> None:
    key = ApiKey.new()
    async with gateway_before(services, keys=keys_file(tmp_path, a=key)) as world:
        reply = await ask(world, **bearer(key), Host="ask.museum.example", Origin=PAGE)
    assert reply.status_code == 200
