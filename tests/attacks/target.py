"""The platform that is attacked: every app in a process of its own, with the bounds of compose."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.processes import memory_mib
from deploy.settings import SAMPLE
from evaluation.data.model import AskedTurn, Part
from evaluation.data.opening import open_dataset
from tests.attacks.planted import VICTIMS_QUESTION, Planted, located
from tests.attacks.watching import Watch
from tests.journey.deployments import SERVICES, SeparateProcesses

_MOST_MIB = 2_048
_VOICE = "voice"


class Target(SeparateProcesses):
    """Started by `running_target`. `planted`: the keys and secrets that it has."""

    def __init__(self, folder: Path, seed: int, *, indexed: bool) -> None:
        super().__init__(folder, {_VOICE: "tests.attacks.voice"})
        self.planted = Planted.drawn(seed)
        self.temporary = folder / "tmp"
        self.watch = Watch(dict.fromkeys(("gateway", *SERVICES), _MOST_MIB), self.pids)
        self.photo = b""
        self.question = ""
        self._indexed = indexed

    def pids(self) -> dict[str, int]:
        """Of the apps that run."""
        return {name: each.pid for name, each in list(self.processes.items()) if each.poll() is None}

    def start(self) -> None:
        """Everything, with the sample where it is to be indexed; returns when it answers."""
        self.temporary.mkdir(parents=True, exist_ok=True)
        (self.folder / "keys.toml").write_text(self.planted.keys_file())
        super().start()
        if self._indexed:
            self.index(SAMPLE)
            singles = open_dataset(str(SAMPLE), part=Part.SINGLE).conversations
            indexed = next(each for each in singles if each.photo and _is_in_the_catalogue(each.turns[0]))
            assert indexed.photo is not None
            self.photo, self.question = located(indexed.photo.read_bytes()), indexed.turns[0].question
        key = {"Authorization": f"Bearer {self.planted.victim.text}"}
        question = {"question": VICTIMS_QUESTION}
        httpx.post(f"{self.gateway_url}/answer", json=question, headers=key, timeout=60).raise_for_status()
        self.watch.start()

    def stop(self) -> None:
        """Everything."""
        self.watch.stop()
        super().stop()

    def revive(self) -> list[str]:
        """Start again what has died; its names."""
        dead = [name for name, process in self.processes.items() if process.poll() is not None]
        for name in dead:
            self.launch(name)
            if name != _VOICE:
                self.until_ready(name)
        return dead

    def restart_gateway(self, descriptors: int | None = None, **settings: str) -> None:
        """With other settings, which stay until the next time."""
        self.processes["gateway"].terminate()
        self.end("gateway")
        bound = ("prlimit", f"--nofile={descriptors}:{descriptors}") if descriptors else ()
        self.launch("gateway", *bound, **settings)
        self.until_ready("gateway")

    def mib(self) -> float:
        """Return the gateway's resident memory in MiB, or 0 if its process has ended."""
        try:
            return memory_mib(self.processes["gateway"].pid)
        except (OSError, ValueError, IndexError):
            return 0.0

    def leaks(self) -> dict[str, list[str]]:
        """Return the names of the secrets in each app's log, for apps with at least one."""
        secrets = self.planted.secrets(self.folder).items()
        logs = {name: (self.folder / f"{name}.log").read_bytes() for name in self.ports}
        leaks = {app: [name for name, secret in secrets if secret in log] for app, log in logs.items()}
        return {app: names for app, names in leaks.items() if names}

    def settings_of(self, name: str) -> dict[str, str]:
        """Add API keys, planted secrets and the speech servers to the app's settings."""
        prefix = f"LOREGLASS_{name.upper()}_"
        own = super().settings_of(name) | {f"{prefix}LOG_LEVEL": "info"}
        if name == "gateway":
            own |= {f"{prefix}{which}_URL": self.url_of(_VOICE) for which in ("STT", "TTS")}
            own |= {f"{prefix}KEYS": str(self.folder / "keys.toml"), "TMPDIR": str(self.temporary)}
            own |= {f"{prefix}SESSION_BYTES": str(32 * 2**20), **self.planted.settings}
            own |= {f"{prefix}TENANT_REQUESTS_PER_MINUTE": "1000000"}  # inputs are to be read, not refused
        return own


def _is_in_the_catalogue(turn: AskedTurn) -> bool:
    return turn.answerable and turn.needs == "image_kb"


@contextmanager
def running_target(folder: Path, seed: int, *, indexed: bool = True) -> Iterator[Target]:
    """Up, and gone afterwards."""
    target = Target(folder, seed, indexed=indexed)
    try:
        target.start()
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
        f"{target.gateway_url}/answer",
        files={"image": ("photo.jpg", target.photo, "image/jpeg")},
        data={"question": target.question, "deadline_ms": str(deadline_ms)},
        headers={"Authorization": f"Bearer {target.planted.victim.text}"},
    )
