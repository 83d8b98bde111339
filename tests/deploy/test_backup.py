"""Sessions and indexes outlive a crash of everything, and, from a backup, a loss of the disks."""

import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from deploy.sample import SAMPLE
from evaluation.data.model import AskedTurn, Conversation
from evaluation.data.world import World, load_world
from loreglass_client import Answer, AsyncLoreglass
from tests.deploy.crashing import CrashingPlatform, PersistentRedis, require_redis, restore_index
from tests.journey.outcomes import DEADLINE_MS

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Told:
    """Answers at one time: to single questions, and to follow-ups of one conversation."""

    alone: Sequence[Answer]
    follow_ups: Sequence[Answer]

    def agrees_with(self, before: "Told") -> None:
        """Check that nothing was lost. Follow-ups know of more turns each time, so their texts may differ."""
        assert [(each.answer, each.citations) for each in self.alone] == [
            (each.answer, each.citations) for each in before.alone
        ]
        assert {each.session_id for each in self.follow_ups} == {
            each.session_id for each in before.follow_ups
        }
        assert any(not each.abstained for each in self.follow_ups)


def questions(world: World) -> list[tuple[Conversation, AskedTurn]]:
    """Some that only the index of photos can answer, and some that only the pages can."""
    found = []
    for needs in ("image_kb", "web"):
        fitting = (one for one in world.single if one.turns[0].answerable and one.turns[0].needs == needs)
        found += [(one, one.turns[0]) for one in list(fitting)[:2]]
    return found


async def told(url: str, world: World, session: str | None) -> Told:
    """Ask everything; the conversation begins where there is no session yet."""
    async with AsyncLoreglass(url) as client:
        alone = []
        for conversation, turn in questions(world):
            photo = await anyio.Path(conversation.photo).read_bytes()
            alone.append(await client.ask(turn.question, photo, deadline_ms=DEADLINE_MS))
        talk = next(each for each in world.multi if each.turns[0].needs == "image_kb")
        if session is None:
            photo = await anyio.Path(talk.photo).read_bytes()
            session = (await client.ask(talk.turns[0].question, photo, deadline_ms=DEADLINE_MS)).session_id
        further = [turn.question for turn in talk.turns[1:] if turn.needs == "image_kb"][:2]
        return Told(
            alone,
            [await client.ask(question, session_id=session, deadline_ms=DEADLINE_MS) for question in further],
        )


def test_a_crash_and_a_restored_backup_lose_nothing(tmp_path: Path) -> None:
    require_redis()
    world = load_world(SAMPLE)
    platform = CrashingPlatform(tmp_path / "data", PersistentRedis(tmp_path / "redis"))
    try:
        platform.start()
        platform.index(SAMPLE)
        before = anyio.run(told, platform.gateway_url, world, None)
        assert any(each.citations for each in before.alone)
        session = before.follow_ups[0].session_id
        before.agrees_with(before)
        platform.back_up(tmp_path / "backup")
        platform.crash()
        platform.start()
        anyio.run(told, platform.gateway_url, world, session).agrees_with(before)
        platform.crash()
        platform.wipe()
        platform.restore(tmp_path / "backup")
        platform.start()
        anyio.run(told, platform.gateway_url, world, session).agrees_with(before)
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
