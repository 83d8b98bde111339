"""The pocket platform with every app, and Redis, in a process of its own: so that each can be taken away."""

import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from bench.ports import free_ports
from bench.processes import until_ready
from bench.settings import ROOT, environment
from deploy.inventory import APPS

SERVICES = tuple(app.name for app in APPS if app.name != "gateway")
GATEWAY, REDIS = "gateway", "redis"
_STOP_S = 15.0


class Apart:
    """Running from `with` on, over the data in a folder. `has_redis`: sessions are kept there."""

    def __init__(self, data: Path, settings: Mapping[str, str] | None = None) -> None:
        self._data = data
        self._settings = dict(settings or {})
        self.has_redis = shutil.which("redis-server") is not None
        names = (GATEWAY, *SERVICES, REDIS)
        self._ports = dict(zip(names, free_ports(len(names)), strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            for name in (*([REDIS] if self.has_redis else []), *SERVICES, GATEWAY):
                self.launch(name)
            for name in (*SERVICES, GATEWAY):
                until_ready(self.url(name), self._processes[name])
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything."""
        for process in self._processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def url(self, name: str) -> str:
        """Of an app."""
        return f"http://127.0.0.1:{self._ports[name]}"

    def launch(self, name: str) -> None:
        """Start it; it may not answer yet."""
        self._data.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", GATEWAY if name == GATEWAY else f"services.{name}"]
        if name == REDIS:
            command = ["redis-server", "--port", str(self._ports[REDIS]), "--bind", "127.0.0.1", "--save", ""]
        self._processes[name] = subprocess.Popen(
            command,
            cwd=self._data if name == REDIS else ROOT,
            env=environment(self._environment(name)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def restart(self, name: str) -> None:
        """A new process on the same port, once it is ready."""
        self.launch(name)
        if name != REDIS:
            until_ready(self.url(name), self._processes[name])

    def kill(self, name: str) -> None:
        """As a crash."""
        self._processes[name].kill()
        self._processes[name].wait()

    def stop(self, name: str) -> None:
        """SIGSTOP: the kernel goes on accepting connections for it."""
        self._processes[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """SIGCONT."""
        self._processes[name].send_signal(signal.SIGCONT)

    def close_disk(self, name: str) -> None:
        """From now on no file of it can grow: each write to one fails, as on a full disk."""
        hard = resource.prlimit(self._processes[name].pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self._processes[name].pid, resource.RLIMIT_FSIZE, (0, hard))

    def open_disk(self, name: str) -> None:
        """It can be written again."""
        hard = resource.prlimit(self._processes[name].pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self._processes[name].pid, resource.RLIMIT_FSIZE, (hard, hard))

    def is_ready(self, name: str) -> bool:
        """Whether it says so."""
        try:
            return httpx.get(f"{self.url(name)}/health/ready", timeout=5).is_success
        except httpx.HTTPError:
            return False

    def _environment(self, name: str) -> dict[str, str]:
        prefix = f"LOREGLASS_{name.upper()}_"
        own = {f"{prefix}PORT": str(self._ports[name]), f"{prefix}LOG_LEVEL": "warning"}
        if name == GATEWAY:
            own |= {f"{prefix}{service.upper()}_URL": self.url(service) for service in SERVICES}
            if self.has_redis:
                redis = f"redis://127.0.0.1:{self._ports[REDIS]}/0"
                own |= {f"{prefix}SESSIONS": "redis", f"{prefix}REDIS_URL": redis}
        elif name in ("image_search", "text_search"):
            own[f"{prefix}DATA_DIR"] = str(self._data / name)
        return own | self._settings


Step = Callable[[str], None]
