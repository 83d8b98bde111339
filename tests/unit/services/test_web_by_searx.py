"""The web engine before a real searx (Debian's package), whose JSON SearXNG kept."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import yaml

from chassis.http.fetching import PublicFetcher
from services.text_search.engine import Provider
from services.text_search.engines.web import WebLimits, WebTextSearch
from services.text_search.engines.web_providers import WebProvider
from tests.unit.services.test_text_search_web import search
from tests.unit.services.web_sites import Web, web

_EXAMPLE = Path("/usr/share/doc/searx/examples/settings.yml")


@pytest.fixture
def internet() -> Iterator[Web]:
    with web() as served:
        yield served


@pytest.fixture
def searx(internet: Web, tmp_path: Path) -> Iterator[str]:
    """The address of a searx whose only engine is the search API of `internet`."""
    if shutil.which("searx-run") is None or not _EXAMPLE.is_file():
        pytest.skip("searx is not installed (Debian: apt-get install searx)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = yaml.safe_load(_EXAMPLE.read_text())
    settings["search"]["formats"] = ["html", "json"]
    settings["server"].update(port=port, bind_address="127.0.0.1", secret_key=os.urandom(16).hex())
    local = {"name": "local", "engine": "json_engine", "shortcut": "lo", "categories": "general"}
    fields = {f"{name}_query": name for name in ("url", "title", "content")}
    address = {"search_url": f"{internet.url}/api?q={{query}}", "enable_http": True, "paging": False}
    settings["engines"] = [{**local, **fields, **address, "results_query": "results", "timeout": 10.0}]
    file = tmp_path / "settings.yml"
    file.write_text(yaml.safe_dump(settings))
    with subprocess.Popen(
        ["searx-run"],
        env={**os.environ, "PYTHONPATH": "", "SEARX_SETTINGS_PATH": str(file)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield _started(f"http://127.0.0.1:{port}", process)
        finally:
            process.kill()


def _started(url: str, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            httpx.get(url, timeout=5)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return url
    raise AssertionError("searx did not start")


def test_pages_that_searx_finds_are_read(internet: Web, searx: str) -> None:
    internet.page("/dam", "<h1>Lindvik</h1><p>The dam was built in 1961. It is 112 m high.</p>")
    internet.results("/dam", api="/api", content="A dam in Lindvik.")
    provider, fetcher = WebProvider(Provider.SEARXNG, searx), PublicFetcher(is_allowed=lambda _: True)
    with closing(WebTextSearch(provider, fetcher, WebLimits(), time.monotonic)) as opened:
        (hit, *_) = search(opened, seconds=30.0)
    assert "It is 112 m high." in hit.passage.text
