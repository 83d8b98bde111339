"""Ways to run the platform: in one process, or each app in its own process."""

import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx

from bench.ports import free_ports
from bench.processes import until_ready
from bench.settings import ROOT, environment
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.one_process import started_platform
from deploy.settings import LiteSettings
from gateway.clients.services import Services

SERVICES = tuple(Services.names())


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
        of_photos, of_pages = (Indexed(r.indexed, r.unchanged, len(r.rejected)) for r in (photos, pages))
        return of_photos, of_pages

    def get(self, name: str, path: str) -> tuple[int, str]:
        """See `Deployment`."""
        url = self.gateway_url if name == "gateway" else self.service_urls[name]
        reply = httpx.get(f"{url}{path}", timeout=30)
        return reply.status_code, reply.text


class OneProcess(OverHttp):
    """The pocket profile as `make serve` runs it, on a thread of the test process."""

    def __init__(self, data: Path) -> None:
        self._settings = LiteSettings(port=0, service_port=0, data_dir=data)
        self._running = ExitStack()

    def start(self) -> None:
        """See `Deployment`."""
        running = self._running.enter_context(started_platform(self._settings))
        self.gateway_url, self.service_urls = running.gateway_url, running.service_urls

    def stop(self) -> None:
        """See `Deployment`."""
        self._running.close()


class SeparateProcesses(OverHttp, Deployment):
    """Run each service and the gateway as a process of its own, connected by settings.

    `others` maps the names of further programs to their modules. `folder` holds one log per program.
    """

    def __init__(self, folder: Path, others: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._modules = (
            {name: f"services.{name}" for name in SERVICES} | {"gateway": "gateway"} | (others or {})
        )
        self.ports = dict(zip(self._modules, free_ports(len(self._modules)), strict=True))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.service_urls = {name: self.url_of(name) for name in SERVICES}
        self.gateway_url = self.url_of("gateway")

    def start(self) -> None:
        """See `Deployment`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self.ports:
            self.launch(name)
        for name in (*SERVICES, "gateway"):
            self.until_ready(name)

    def stop(self) -> None:
        """See `Deployment`."""
        for process in self.processes.values():
            process.terminate()
        for name in self.processes:
            self.end(name)
        self.processes.clear()

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """See `Deployment`."""
        self.processes[name].kill()
        self.end(name)
        try:
            yield
        finally:
            self.launch(name)
            self.until_ready(name)

    def launch(self, name: str, *before: str, **settings: str) -> None:
        """Start one program, optionally under a wrapper command (`before`) and with extra settings."""
        command = [*before, sys.executable, "-m", self._modules[name]]
        variables = environment(self.settings_of(name) | settings)
        with self._log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=log, stderr=log)

    def end(self, name: str) -> None:
        """Wait up to 15 s for the program to end, then kill it."""
        process = self.processes[name]
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def settings_of(self, name: str) -> dict[str, str]:
        """Return environment variables: its port, and the service URLs or data folder that it needs."""
        prefix = f"LOREGLASS_{name.upper()}_"
        own = {f"{prefix}PORT": str(self.ports[name])}
        if name == "gateway":
            own |= {f"{prefix}{each.upper()}_URL": self.url_of(each) for each in SERVICES}
        elif name in ("image_search", "text_search"):
            own[f"{prefix}DATA_DIR"] = str(self.folder / name)
        return own

    def until_ready(self, name: str) -> None:
        """Wait until the program is ready. Raises `RuntimeError` with the last lines of its log."""
        until_ready(self.url_of(name), self.processes[name], log=self._log(name))

    def url_of(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"
