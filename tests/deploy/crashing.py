"""A platform of processes with sessions in a real, persistent Redis, that can lose power and disks."""

import shutil
import subprocess
from pathlib import Path
from threading import Event
from time import monotonic

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.journey.deployments import ROOT, SeparateProcesses, free_ports

CONFIG = ROOT / "deploy" / "compose" / "redis.conf"
RESTORE_REDIS = ROOT / "deploy" / "backup" / "restore_redis.sh"
START_S = 30
WITH_DATA = ("image_search", "text_search")


class PersistentRedis:
    """redis-server as containers run it, on loopback, with its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        [self._port] = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        """Returns when it has read its files."""
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "redis.conf"
        config.write_text(CONFIG.read_text().replace("dir /data", f"dir {self._folder}"))
        here = ["--port", str(self._port), "--bind", "127.0.0.1", "--logfile", str(self._folder / "log")]
        self._process = subprocess.Popen(["redis-server", str(config), *here])
        until, pause = monotonic() + START_S, Event()
        with Redis.from_url(self.url) as client:
            while monotonic() < until and self._process.poll() is None:
                try:
                    client.ping()
                    return
                except RedisError:
                    pause.wait(0.05)
        raise RuntimeError("redis-server did not start:\n" + (self._folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """As a loss of power to this process alone would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None

    def wipe(self) -> None:
        """Its disk is gone."""
        shutil.rmtree(self._folder)

    def back_up(self, file: Path) -> None:
        """While it runs, as the runbook says."""
        subprocess.run(["redis-cli", "-p", str(self._port), "--rdb", str(file)], check=True)

    def restore(self, file: Path) -> None:
        """While it is stopped, as the runbook says."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with file.open("rb") as snapshot:
            subprocess.run(
                ["sh", "-c", RESTORE_REDIS.read_text()], cwd=self._folder, stdin=snapshot, check=True
            )


class CrashingPlatform(SeparateProcesses):
    """Every app in a process of its own, all of which can be killed at once."""

    def __init__(self, data: Path, redis: PersistentRedis) -> None:
        super().__init__(data)
        self._redis = redis

    def crash(self) -> None:
        """SIGKILL to everything: nobody closes a file."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait(30)
        self._processes.clear()
        self._redis.kill()

    def start(self) -> None:
        """See `Deployment`; Redis first."""
        self._redis.start()
        super().start()

    def wipe(self) -> None:
        """The disks are gone."""
        self._redis.wipe()
        for name in WITH_DATA:
            shutil.rmtree(self._data / name)

    def back_up(self, folder: Path) -> None:
        """While everything runs and nothing is being indexed, as the runbook says."""
        folder.mkdir()
        self._redis.back_up(folder / "redis.rdb")
        for name in WITH_DATA:
            source, target = self._data / name, folder / f"{name}.tgz"
            done = subprocess.run(["tar", "-C", source, "-cSzf", target, "."], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr

    def restore(self, folder: Path) -> None:
        """While nothing runs, as the runbook says."""
        self._redis.restore(folder / "redis.rdb")
        for name in WITH_DATA:
            (self._data / name).mkdir()
            subprocess.run(["tar", "-C", self._data / name, "-xSzf", folder / f"{name}.tgz"], check=True)

    def _environment(self, name: str) -> dict[str, str]:
        own = super()._environment(name)
        if name == "gateway":
            own |= {"LOREGLASS_GATEWAY_SESSIONS": "redis", "LOREGLASS_GATEWAY_REDIS_URL": self._redis.url}
        return own


def require_redis() -> None:
    """Skip where there is none."""
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        pytest.skip("redis-server is not installed here (apt-get install redis-server)")
