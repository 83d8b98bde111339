"""Ways to run the platform: in one process, or each app in its own process."""

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
from anyio.from_thread import start_blocking_portal

from bench.ports import free_ports
from bench.processes import until_ready
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.one_process import platform
from deploy.settings import PocketSettings
from gateway.clients.services import Services

SERVICES = tuple(Services.names())
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Indexed:
    """Counts of a manifest's records."""

    new: int
    unchanged: int
    rejected: int


class Deployment(ABC):
    """A platform that can be stopped and started again with the same data, and whose services can crash."""

    gateway_url: str

    @abstractmethod
    def start(self) -> None:
        """Start everything; return when all of it answers."""

    @abstractmethod
    def stop(self) -> None:
        """Stop everything; the data stay."""

    @abstractmethod
    def index(self, folder: Path) -> tuple[Indexed, Indexed]:
        """Index the photos and the pages of a folder."""

    @abstractmethod
    def get(self, name: str, path: str) -> tuple[int, str]:
        """Return status and text of an app's page, fetched from where the app can be reached."""

    @abstractmethod
    def without(self, name: str) -> AbstractContextManager[None]:
        """Kill a service as a crash would; start it again afterwards."""


class OverHttp:
    """A platform whose services this process can reach."""

    gateway_url: str
    service_urls: Mapping[str, str]

    def index(self, folder: Path) -> tuple[Indexed, Indexed]:
        """See `Deployment`."""
        urls, options = self.service_urls, IngestOptions()
        photos = anyio.run(ingest_photos, folder / "images.jsonl", urls["image_search"], options)
        pages = anyio.run(ingest_pages, folder / "pages.jsonl", urls["text_search"], options)
        return (
            Indexed(photos.indexed, photos.unchanged, len(photos.rejected)),
            Indexed(pages.indexed, pages.unchanged, len(pages.rejected)),
        )

    def get(self, name: str, path: str) -> tuple[int, str]:
        """See `Deployment`."""
        url = self.gateway_url if name == "gateway" else self.service_urls[name]
        reply = httpx.get(f"{url}{path}", timeout=30)
        return reply.status_code, reply.text


class OneProcess(OverHttp):
    """The pocket profile as `make serve` runs it, on a thread of the test process."""

    def __init__(self, data: Path) -> None:
        self._settings = PocketSettings(port=0, service_port=0, data_dir=data)
        self._running = ExitStack()

    def start(self) -> None:
        """See `Deployment`."""
        portal = self._running.enter_context(start_blocking_portal())
        running = self._running.enter_context(portal.wrap_async_context_manager(platform(self._settings)))
        self.gateway_url, self.service_urls = running.gateway_url, running.service_urls

    def stop(self) -> None:
        """See `Deployment`."""
        self._running.close()


class SeparateProcesses(OverHttp, Deployment):
    """`python -m services.x` for each service and `python -m gateway`, connected by settings."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._ports = dict(zip((*SERVICES, "gateway"), free_ports(len(SERVICES) + 1), strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.service_urls = {name: self._url(name) for name in SERVICES}
        self.gateway_url = self._url("gateway")

    def start(self) -> None:
        """See `Deployment`."""
        for name in self._ports:
            self._launch(name)
        for name in self._ports:
            self._await(name)

    def stop(self) -> None:
        """See `Deployment`."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait(30)
        self._processes.clear()

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """See `Deployment`."""
        self._processes[name].kill()
        self._processes[name].wait(30)
        try:
            yield
        finally:
            self._launch(name)
            self._await(name)

    def _launch(self, name: str) -> None:
        module = name if name == "gateway" else f"services.{name}"
        self._data.mkdir(parents=True, exist_ok=True)
        with (self._data / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", module],
                cwd=ROOT,
                env={**os.environ, **self._environment(name)},
                stdout=log,
                stderr=log,
            )

    def _environment(self, name: str) -> dict[str, str]:
        prefix = f"LOREGLASS_{name.upper()}_"
        own = {f"{prefix}PORT": str(self._ports[name]), "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"}
        if name == "gateway":
            own |= {f"{prefix}{each.upper()}_URL": self._url(each) for each in SERVICES}
        elif name in ("image_search", "text_search"):
            own[f"{prefix}DATA_DIR"] = str(self._data / name)
        return own

    def _await(self, name: str) -> None:
        log = self._data / f"{name}.log"
        until_ready(self._url(name), self._processes[name], path="/health/live", log=log)

    def _url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._ports[name]}"
