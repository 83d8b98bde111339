"""A platform that lost power or its disks, restored from a backup."""

import random
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic

import anyio
import pytest
from redis import Redis
from redis.exceptions import RedisError

from bench.ports import free_ports
from bench.profile import one_process
from deploy.settings import SAMPLE
from evaluation.data.model import AskedTurn, Conversation, Dataset, Part
from evaluation.data.opening import open_dataset
from loreglass_client import Answer, AsyncLoreglass
from tests.journey.deployments import ROOT, OverHttp
from tests.journey.outcomes import DEADLINE_MS

pytestmark = pytest.mark.slow

CONFIG = ROOT / "deploy" / "compose" / "redis.conf"
RESTORE_REDIS = ROOT / "deploy" / "backup" / "restore_redis.sh"
RESTORE_INDEX = ROOT / "deploy" / "backup" / "restore_index.sh"
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
        here += ["--repl-diskless-sync-delay", "0"]  # a backup waits for no second reader
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


class CrashingPlatform(OverHttp):
    """All apps in one process, as `make serve` runs them: one signal ends all of them."""

    def __init__(self, data: Path, redis: PersistentRedis) -> None:
        self._data = data
        self._redis = redis
        self._running = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """See `Deployment`; Redis first."""
        self._redis.start()
        sessions = {"LOREGLASS_GATEWAY_SESSIONS": "redis", "LOREGLASS_GATEWAY_REDIS_URL": self._redis.url}
        running, self.service_urls = self._running.enter_context(one_process(self._data, sessions))
        self._process, self.gateway_url = running.process, running.url

    def crash(self) -> None:
        """SIGKILL to everything: nobody closes a file."""
        if self._process is not None:
            self._process.kill()
        self._running.close()
        self._redis.kill()

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
            restore_index(folder / f"{name}.tgz", self._data / name)


def restore_index(archive: Path, data: Path) -> None:
    """What the runbook says for a service that is stopped."""
    with archive.open("rb") as content:
        subprocess.run(["sh", "-c", RESTORE_INDEX.read_text()], cwd=data, stdin=content, check=True)


def require_redis() -> None:
    """Skip where there is none."""
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        pytest.skip("redis-server is not installed here (apt-get install redis-server)")


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers at one time: to single questions, and to follow-ups of one conversation."""

    alone: Sequence[Answer]
    follow_ups: Sequence[Answer]

    def agrees_with(self, before: "Replies") -> None:
        """Check that nothing was lost. Follow-ups know of more turns each time, so their texts may differ."""
        assert [(each.answer, each.citations) for each in self.alone] == [
            (each.answer, each.citations) for each in before.alone
        ]
        assert {each.session_id for each in self.follow_ups} == {
            each.session_id for each in before.follow_ups
        }
        assert any(not each.abstained for each in self.follow_ups)


def questions(world: Dataset) -> list[tuple[Conversation, AskedTurn]]:
    """Some that only the index of photos can answer, and some that only the pages can."""
    results = []
    for needs in ("image_kb", "web"):
        fitting = (
            one for one in world.of(Part.SINGLE) if one.turns[0].answerable and one.turns[0].needs == needs
        )
        results += [(one, one.turns[0]) for one in list(fitting)[:2]]
    return results


async def ask_everything(url: str, world: Dataset, session: str | None) -> Replies:
    """Ask everything; the conversation begins where there is no session yet."""
    async with AsyncLoreglass(url) as client:
        alone = []
        for conversation, turn in questions(world):
            assert conversation.photo is not None
            photo = await anyio.Path(conversation.photo).read_bytes()
            alone.append(await client.ask(turn.question, photo, deadline_ms=DEADLINE_MS))
        talk = next(each for each in world.of(Part.MULTI) if each.turns[0].needs == "image_kb")
        if session is None:
            assert talk.photo is not None
            photo = await anyio.Path(talk.photo).read_bytes()
            session = (await client.ask(talk.turns[0].question, photo, deadline_ms=DEADLINE_MS)).session_id
        further = [turn.question for turn in talk.turns[1:] if turn.needs == "image_kb"][:2]
        return Replies(
            alone,
            [await client.ask(question, session_id=session, deadline_ms=DEADLINE_MS) for question in further],
        )


def test_a_crash_and_a_restored_backup_lose_nothing(tmp_path: Path) -> None:
    require_redis()
    world = open_dataset(str(SAMPLE))
    platform = CrashingPlatform(tmp_path / "data", PersistentRedis(tmp_path / "redis"))
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


@pytest.mark.parametrize("content", [b"", b"<html>404</html>", b"REDIS0010\xfa\tredis-ver"])
def test_what_is_no_whole_snapshot_leaves_redis_as_it_was(tmp_path: Path, content: bytes) -> None:
    require_redis()
    (tmp_path / "snapshot").write_bytes(content)
    (tmp_path / "redis" / "appendonlydir").mkdir(parents=True)
    (tmp_path / "redis" / "appendonlydir" / "kept").touch()
    with pytest.raises(subprocess.CalledProcessError):
        PersistentRedis(tmp_path / "redis").restore(tmp_path / "snapshot")
    assert (tmp_path / "redis" / "appendonlydir" / "kept").exists()


@pytest.mark.parametrize(
    "content", [b"", b"<html>404</html>", None], ids=["nothing", "no archive", "cut short"]
)
def test_what_is_no_whole_archive_leaves_an_index_as_it_was(tmp_path: Path, content: bytes | None) -> None:
    source, data, archive = tmp_path / "source", tmp_path / "data", tmp_path / "archive.tgz"
    for folder in (source, data):
        folder.mkdir()
        (folder / "kept").write_text(folder.name)
    (source / "photos").write_bytes(random.Random(1).randbytes(50_000))
    subprocess.run(["tar", "-C", source, "-cSzf", archive, "."], check=True)
    archive.write_bytes(archive.read_bytes()[:30_000] if content is None else content)
    with pytest.raises(subprocess.CalledProcessError):
        restore_index(archive, data)
    assert (data / "kept").read_text() == "data"


def test_a_whole_archive_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    source, data, archive = tmp_path / "source", tmp_path / "data", tmp_path / "archive.tgz"
    for folder in (source, data):
        (folder / "sub" / folder.name).mkdir(parents=True)
    (source / ".hidden").touch()
    (data / ".old").touch()
    subprocess.run(["tar", "-C", source, "-cSzf", archive, "."], check=True)
    restore_index(archive, data)
    assert {str(path.relative_to(data)) for path in data.rglob("*")} == {".hidden", "sub", "sub/source"}
