"""A platform that lost power or its disks, restored from a backup."""

import random
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from bench.ports import free_ports
from bench.profile import one_process
from deploy.settings import SAMPLE
from evaluation.data.model import Conversation, Dataset, Part
from evaluation.data.opening import open_dataset
from loreglass_client import Answer, AsyncLoreglass
from tests.journey.deployments import ROOT, OverHttp
from tests.journey.outcomes import DEADLINE_MS

pytestmark = pytest.mark.slow

CONFIG = ROOT / "deploy" / "compose" / "redis.conf"
RESTORE_REDIS = ROOT / "deploy" / "backup" / "restore_redis.sh"
RESTORE_INDEX = ROOT / "deploy" / "backup" / "restore_index.sh"
WITH_DATA = ("image_search", "text_search")


class CrashingPlatform(OverHttp):
    """Run all apps in one process, as `make serve` does, with the containers' Redis configuration."""

    def __init__(self, folder: Path) -> None:
        self._data, self._redis = folder / "data", folder / "redis"
        self._port = str(free_ports(1)[0])
        self._running = ExitStack()
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start Redis, wait until it has loaded its files, then start the platform."""
        self._redis.mkdir(parents=True, exist_ok=True)
        config = self._redis / "redis.conf"
        config.write_text(CONFIG.read_text().replace("dir /data", f"dir {self._redis}"))
        options = ["--port", self._port, "--bind", "127.0.0.1", "--logfile", str(self._redis / "log")]
        options += ["--repl-diskless-sync-delay", "0"]  # start a backup at once, without waiting for replicas
        self._processes = [subprocess.Popen(["redis-server", str(config), *options])]
        until_it_answers = f"until redis-cli -p {self._port} ping | grep -q PONG; do sleep 0.05; done"
        subprocess.run(["sh", "-c", until_it_answers], stderr=subprocess.DEVNULL, timeout=30, check=True)
        sessions = {"SESSIONS": "redis", "REDIS_URL": f"redis://127.0.0.1:{self._port}/0"}
        settings = {f"LOREGLASS_GATEWAY_{name}": value for name, value in sessions.items()}
        running, self.service_urls = self._running.enter_context(one_process(self._data, settings))
        self._processes.append(running.process)
        self.gateway_url = running.url

    def crash(self) -> None:
        """SIGKILL to everything: nobody closes a file."""
        for process in reversed(self._processes):
            process.kill()
            process.wait(30)
        self._running.close()
        self._processes.clear()

    def wipe(self) -> None:
        """The disks are gone."""
        for folder in (self._redis, *(self._data / name for name in WITH_DATA)):
            shutil.rmtree(folder)
            folder.mkdir()

    def back_up(self, folder: Path) -> None:
        """While everything runs and nothing is being indexed, as the runbook says."""
        folder.mkdir()
        subprocess.run(["redis-cli", "-p", self._port, "--rdb", folder / "redis.rdb"], check=True)
        for name in WITH_DATA:
            archive(self._data / name, folder / f"{name}.tgz")

    def restore(self, folder: Path) -> None:
        """While nothing runs, as the runbook says."""
        restore(RESTORE_REDIS, folder / "redis.rdb", self._redis)
        for name in WITH_DATA:
            restore(RESTORE_INDEX, folder / f"{name}.tgz", self._data / name)


def archive(source: Path, file: Path) -> None:
    subprocess.run(["tar", "-C", source, "-cSzf", file, "."], check=True)


def restore(script: Path, backup: Path, data: Path) -> None:
    """Run the runbook's restore script in the data folder of a stopped container."""
    with backup.open("rb") as content:
        subprocess.run(["sh", "-c", script.read_text()], cwd=data, stdin=content, check=True)


needs_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None or shutil.which("redis-cli") is None,
    reason="redis-server is not installed here (apt-get install redis-server)",
)


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers at one time: to single questions, and to follow-ups of one conversation."""

    alone: Sequence[Answer]
    follow_ups: Sequence[Answer]

    def agrees_with(self, before: "Replies") -> None:
        """Check that nothing was lost. Follow-ups know of more turns each time, so their texts may differ."""
        for now, then in zip(self.alone, before.alone, strict=True):
            assert (now.answer, now.citations) == (then.answer, then.citations)
        sessions = [{each.session_id for each in replies.follow_ups} for replies in (self, before)]
        assert sessions[0] == sessions[1]
        assert any(not each.abstained for each in self.follow_ups)


def questions(world: Dataset) -> list[Conversation]:
    """Some that only the index of photos can answer, and some that only the pages can."""
    answerable = [each for each in world.of(Part.SINGLE) if each.turns[0].answerable]
    needing = [[one for one in answerable if one.turns[0].needs == kind][:2] for kind in ("image_kb", "web")]
    return needing[0] + needing[1]


async def ask_everything(url: str, world: Dataset, session: str | None) -> Replies:
    """Ask everything; the conversation begins where there is no session yet."""
    ms = DEADLINE_MS
    async with AsyncLoreglass(url) as client:
        alone = [
            await client.ask(each.turns[0].question, each.photo, deadline_ms=ms) for each in questions(world)
        ]
        talk = next(each for each in world.of(Part.MULTI) if each.turns[0].needs == "image_kb")
        if session is None:
            session = (await client.ask(talk.turns[0].question, talk.photo, deadline_ms=ms)).session_id
        further = [turn.question for turn in talk.turns[1:] if turn.needs == "image_kb"][:2]
        follow_ups = [await client.ask(each, session_id=session, deadline_ms=ms) for each in further]
        return Replies(alone, follow_ups)


@needs_redis
def test_a_crash_and_a_restored_backup_lose_nothing(tmp_path: Path) -> None:
    world = open_dataset(str(SAMPLE))
    platform = CrashingPlatform(tmp_path)
    try:
        platform.start()
        platform.index(SAMPLE)
        before = anyio.run(ask_everything, platform.gateway_url, world, None)
        assert any(each.citations for each in before.alone)
        session = before.follow_ups[0].session_id
        before.agrees_with(before)
        platform.back_up(tmp_path / "backup")
        platform.crash()
        platform.start()
        anyio.run(ask_everything, platform.gateway_url, world, session).agrees_with(before)
        platform.crash()
        platform.wipe()
        platform.restore(tmp_path / "backup")
        platform.start()
        anyio.run(ask_everything, platform.gateway_url, world, session).agrees_with(before)
        for indexed in platform.index(SAMPLE):
            assert (indexed.new, indexed.rejected) == (0, 0)
            assert indexed.unchanged > 0
    finally:
        platform.crash()


@pytest.mark.parametrize("script", [pytest.param(RESTORE_REDIS, marks=needs_redis), RESTORE_INDEX])
@pytest.mark.parametrize(
    "content", [b"", b"<html>404</html>", b"REDIS0010\xfa\tredis-ver", None], ids=["0", "404", "rdb", "tgz"]
)
def test_incomplete_backup_is_refused_and_changes_nothing(
    tmp_path: Path, script: Path, content: bytes | None
) -> None:
    source, data, backup = tmp_path / "source", tmp_path / "data", tmp_path / "backup"
    source.mkdir()
    (source / "photos").write_bytes(random.Random(1).randbytes(50_000))
    archive(source, backup)
    backup.write_bytes(backup.read_bytes()[:30_000] if content is None else content)
    (data / "appendonlydir").mkdir(parents=True)
    (data / "appendonlydir" / "kept").touch()
    with pytest.raises(subprocess.CalledProcessError):
        restore(script, backup, data)
    assert (data / "appendonlydir" / "kept").exists()


def test_complete_backup_replaces_the_folders_content(tmp_path: Path) -> None:
    source, data = tmp_path / "source", tmp_path / "data"
    for folder in (source, data):
        (folder / "sub" / folder.name).mkdir(parents=True)
    (source / ".hidden").touch()
    (data / ".old").touch()
    archive(source, tmp_path / "archive.tgz")
    restore(RESTORE_INDEX, tmp_path / "archive.tgz", data)
    assert {str(path.relative_to(data)) for path in data.rglob("*")} == {".hidden", "sub", "sub/source"}
