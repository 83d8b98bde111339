"""Sessions and indexes outlive a crash of everything, and, from a backup, a loss of the disks."""

import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from evaluation.data.model import AskedTurn, Conversation
from evaluation.data.world import World, load_world
from loreglass_client import Answer, AsyncLoreglass
from tests.deploy.crashing import CrashingPlatform, PersistentRedis, require_redis, restore_index
from tests.journey.deployments import Indexed
from tests.journey.outcomes import DEADLINE_MS

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Told:
    """What the platform says at one time: of single questions, and in a conversation that goes on."""

    alone: Sequence[Answer]
    follow_ups: Sequence[Answer]
    indexed_anew: tuple[Indexed, Indexed] | None = None

    @property
    def words(self) -> list[str]:
        """The answers to single questions: those in the conversation know of more turns each time."""
        return [each.answer for each in self.alone]

    @property
    def knows_what_was_spoken_of(self) -> bool:
        """Whether it answers a question without a photo about the thing in the first one's."""
        return any(not each.abstained for each in self.follow_ups)

    @property
    def session_id(self) -> str:
        """The conversation's."""
        (session,) = {each.session_id for each in self.follow_ups}
        return session


@dataclass(frozen=True, slots=True)
class Story:
    """Before anything happened, after everything was killed, and after the disks were lost, too."""

    before: Told
    after_crash: Told
    after_restore: Told


def questions(world: World) -> list[tuple[Conversation, AskedTurn]]:
    """Some that only the index of photos can answer, and some that only the pages can."""
    found = []
    for needs in ("image_kb", "web"):
        fitting = (one for one in world.single if one.turns[0].answerable and one.turns[0].needs == needs)
        found += [(one, one.turns[0]) for one in list(fitting)[:4]]
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
        further = [turn.question for turn in talk.turns[1:] if turn.needs == "image_kb"]
        return Told(
            alone,
            [await client.ask(question, session_id=session, deadline_ms=DEADLINE_MS) for question in further],
        )


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, small_world: Path) -> Story:
    """Lived through once, looked at by every test."""
    require_redis()
    folder = tmp_path_factory.mktemp("lost")
    world = load_world(small_world)
    platform = CrashingPlatform(folder / "data", PersistentRedis(folder / "redis"))
    try:
        platform.start()
        platform.index(small_world)
        before = anyio.run(told, platform.gateway_url, world, None)
        session = before.session_id
        platform.back_up(folder / "backup")
        platform.crash()
        platform.start()
        after_crash = anyio.run(told, platform.gateway_url, world, session)
        platform.crash()
        platform.wipe()
        platform.restore(folder / "backup")
        platform.start()
        after_restore = anyio.run(told, platform.gateway_url, world, session)
        anew = platform.index(small_world)
        return Story(before, after_crash, Told(after_restore.alone, after_restore.follow_ups, anew))
    finally:
        platform.crash()


def test_the_index_answers_after_a_crash_of_everything_as_before(story: Story) -> None:
    assert any(each.citations for each in story.before.alone)
    assert story.after_crash.words == story.before.words


def test_a_conversation_goes_on_after_a_crash_of_everything(story: Story) -> None:
    assert story.before.knows_what_was_spoken_of
    assert story.after_crash.knows_what_was_spoken_of
    assert story.after_crash.session_id == story.before.session_id


def test_everything_answers_from_its_backup_as_before(story: Story) -> None:
    assert story.after_restore.words == story.before.words
    assert [each.citations for each in story.after_restore.alone] == [
        each.citations for each in story.before.alone
    ]


def test_a_conversation_goes_on_from_its_backup(story: Story) -> None:
    assert story.after_restore.knows_what_was_spoken_of
    assert story.after_restore.session_id == story.before.session_id


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


def test_a_restored_index_lacks_nothing(story: Story) -> None:
    anew = story.after_restore.indexed_anew
    assert anew is not None
    for each in anew:
        assert (each.new, each.rejected) == (0, 0)
        assert each.unchanged > 0
