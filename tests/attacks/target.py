"""The platform that is attacked: every app in a process of its own, with the bounds of compose."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import httpx

from bench.ports import free_ports
from bench.processes import memory_mib, until_ready
from bench.settings import environment
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.inventory import APPS
from deploy.settings import SAMPLE
from evaluation.data.model import Part
from evaluation.data.opening import open_dataset
from tests.attacks.judging import ROOT
from tests.attacks.planted import VICTIMS_QUESTION, Planted, located
from tests.attacks.watching import Watch

GATEWAY_MIB, SERVICE_MIB = 2_048, 2_048
SERVICES = tuple(app.name for app in APPS if app.name != "gateway")
_VOICE = "voice"


class Target:
    """Started by `running_target`. `planted`: the keys and secrets that it has."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.planted = Planted.drawn(seed)
        names = ("gateway", *SERVICES, _VOICE)
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.temporary = folder / "tmp"
        bounds = {"gateway": GATEWAY_MIB} | dict.fromkeys(SERVICES, SERVICE_MIB)
        self.watch = Watch(bounds, self.pids)
        self.photo = b""
        self.question = ""

    @property
    def url(self) -> str:
        """Of the gateway."""
        return f"http://127.0.0.1:{self.ports['gateway']}"

    def pids(self) -> dict[str, int]:
        """Of the apps that run."""
        return {name: each.pid for name, each in list(self._processes.items()) if each.poll() is None}

    def start(self, indexed: bool = True) -> None:
        """Everything, with the sample where it is to be indexed; returns when it answers."""
        for folder in (self.folder, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "keys.toml").write_text(self.planted.keys_file())
        for name in self.ports:
            self.launch(name)
        for name in SERVICES:
            until_ready(self.url_of(name), self._processes[name])
        if indexed:
            self._index()
        until_ready(self.url, self._processes["gateway"])
        key = {"Authorization": f"Bearer {self.planted.victim.text}"}
        question = {"question": VICTIMS_QUESTION}
        httpx.post(f"{self.url}/answer", json=question, headers=key, timeout=60).raise_for_status()
        self.watch.start()

    def stop(self) -> None:
        """Everything."""
        self.watch.stop()
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def revive(self) -> list[str]:
        """Start again what has died; its names."""
        dead = [name for name, process in self._processes.items() if process.poll() is not None]
        for name in dead:
            self.launch(name)
            if name != _VOICE:
                until_ready(self.url_of(name), self._processes[name])
        return dead

    def restart_gateway(self, descriptors: int | None = None, **settings: str) -> None:
        """With other settings, which stay until the next time."""
        process = self._processes["gateway"]
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            process.kill()
            process.wait()
        self.launch("gateway", descriptors=descriptors, **settings)
        until_ready(self.url, self._processes["gateway"])

    def url_of(self, name: str) -> str:
        """Of an app."""
        return f"http://127.0.0.1:{self.ports[name]}"

    def mib(self, name: str = "gateway") -> float:
        """Resident now; 0 of a dead one."""
        try:
            return memory_mib(self._processes[name].pid)
        except (OSError, ValueError, IndexError):
            return 0.0

    def logs(self) -> Iterator[tuple[str, bytes]]:
        """Of every app, by its name."""
        for name in self.ports:
            file = self.folder / f"{name}.log"
            yield name, file.read_bytes() if file.exists() else b""

    def launch(self, name: str, *, descriptors: int | None = None, **settings: str) -> None:
        """One app, with more settings (`GATEWAY_…`: without the common prefix)."""
        module = {_VOICE: "tests.attacks.voice", "gateway": "gateway"}.get(name, f"services.{name}")
        command = [sys.executable, "-m", module]
        if name == _VOICE:
            command.append(str(self.ports[name]))
        if descriptors:
            command = ["prlimit", f"--nofile={descriptors}:{descriptors}", *command]
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command, cwd=ROOT, env=environment(self._settings(name) | settings), stdout=log, stderr=log
            )

    def _settings(self, name: str) -> dict[str, str]:
        prefix = f"LOREGLASS_{name.upper()}_"
        own = {f"{prefix}PORT": str(self.ports[name]), f"{prefix}LOG_LEVEL": "info"}
        if name == "gateway":
            own |= {f"{prefix}{each.upper()}_URL": self.url_of(each) for each in SERVICES}
            own |= {f"{prefix}{which}_URL": self.url_of(_VOICE) for which in ("STT", "TTS")}
            own |= {f"{prefix}KEYS": str(self.folder / "keys.toml"), "TMPDIR": str(self.temporary)}
            own |= {f"{prefix}SESSION_BYTES": str(32 * 2**20), **self.planted.settings}
            own |= {f"{prefix}TENANT_REQUESTS_PER_MINUTE": "1000000"}  # inputs are to be read, not refused
        elif name in ("image_search", "text_search"):
            own[f"{prefix}DATA_DIR"] = str(self.folder / name)
        return own

    def _index(self) -> None:
        options = IngestOptions()
        anyio.run(ingest_photos, SAMPLE / "images.jsonl", self.url_of("image_search"), options)
        anyio.run(ingest_pages, SAMPLE / "pages.jsonl", self.url_of("text_search"), options)
        for each in open_dataset(str(SAMPLE), part=Part.SINGLE).conversations:
            turn = each.turns[0]
            if each.photo and turn.answerable and turn.needs == "image_kb":
                self.photo, self.question = located(each.photo.read_bytes()), turn.question
                return
        raise RuntimeError("The sample has no question that its catalogue answers.")


@contextmanager
def running_target(folder: Path, seed: int, *, indexed: bool = True) -> Iterator[Target]:
    """Up, and gone afterwards."""
    target = Target(folder, seed)
    try:
        target.start(indexed)
        yield target
    finally:
        target.stop()


def settle(target: Target, before_mib: float, slack_mib: float, most_s: float = 20.0) -> float:
    """The gateway's memory, once it has come back to what it was and `slack_mib`, or after `most_s`."""
    until = time.monotonic() + most_s
    while (now := target.mib()) > before_mib + slack_mib and time.monotonic() < until:
        time.sleep(0.25)
    return now


def ask_well(target: Target, client: httpx.Client, deadline_ms: int = 8_000) -> httpx.Response:
    """The victim's good question, with a photo."""
    return client.post(
        f"{target.url}/answer",
        files={"image": ("photo.jpg", target.photo, "image/jpeg")},
        data={"question": target.question, "deadline_ms": str(deadline_ms)},
        headers={"Authorization": f"Bearer {target.planted.victim.text}"},
    )
