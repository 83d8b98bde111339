"""How a run asks, and what it does with a gateway that fails."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from chassis.keys import ApiKey
from clients.keys import entry
from evaluation.data.opening import open_dataset
from evaluation.record import TurnRecord
from evaluation.runs.asking import MOST_LOSSES, MOST_OVERLOADS, NO_PHOTO, Asking, Questioner, RunStopped
from evaluation.runs.running import Made, Task, connect, make_run
from evaluation.runs.store import RunStore, load_run
from loreglass_client import LoreglassError
from loreglass_client.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    InvalidRequest,
    Overloaded,
    PipelineNotFound,
    Unauthorized,
    Unreachable,
)
from loreglass_client.models import Answer, Experiment
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.records import answered
from tests.unit.evaluation.runs.small_world import BROKEN, PAGES, SMELL, WHO, Turn, script, write_world


def task(folder: Path, single: Sequence[Turn], multi: Sequence[Sequence[Turn]], asking: Asking) -> Task:
    world = write_world(folder / "world", single, multi)
    return Task(open_dataset(str(world)), folder / "run", asking, "made up")


async def made(task: Task, pipeline: ScriptedPipeline, *, experiments: bool = True) -> Made:
    async with scripted_gateway(pipeline, experiments=experiments) as url, connect(url) as gateway:
        return await make_run(task, gateway)


def outcomes_of(records: Sequence[TurnRecord]) -> list[tuple[str, str | None, str | None]]:
    return [(each.question, each.answer.answer if each.answer else None, each.error) for each in records]


async def test_every_question_is_stored_in_order_with_its_outcome(tmp_path: Path) -> None:
    pipeline = ScriptedPipeline(script)
    job = task(tmp_path, [WHO, PAGES, SMELL, BROKEN], [[WHO, PAGES], [SMELL, WHO]], Asking(concurrency=3))
    run = (await made(job, pipeline)).run
    who = (WHO[0], "It is by Mira Holm.", None)
    pages = (PAGES[0], "200 pages", None)
    smell = (SMELL[0], "I don't know. The index has nothing about this.", None)
    broken = (BROKEN[0], None, "not_ready")
    assert outcomes_of(run.records) == [who, pages, smell, broken, who, pages, smell, who]
    assert sum(ask.photo_is_new for ask in pipeline.queries) == 6
    assert run.header.explained
    traced = [(each, each.answer, each.trace) for each in run.records if each.answer and each.trace]
    assert len(traced) == 7
    for record, answer, trace in traced:
        assert answer.trace_id == trace.trace_id
        assert record.client_ms > 0
        assert run.photo(record).is_file()
    assert run.failures == {"not_ready": 1}
    assert run == load_run(job.folder)


async def test_failed_first_turn_resends_the_photo(tmp_path: Path) -> None:
    pipeline = ScriptedPipeline(script)
    run = (await made(task(tmp_path, [], [[BROKEN, WHO, WHO]], Asking()), pipeline)).run
    assert [record.error for record in run.records] == ["not_ready", None, None]
    assert [ask.photo_is_new for ask in pipeline.queries] == [True, True, False]


async def test_forgotten_session_continues_with_history(tmp_path: Path) -> None:
    job = task(tmp_path, [], [[WHO, PAGES, SMELL]], Asking())
    whole = (await made(job, ScriptedPipeline(script))).run
    turns = job.folder / "turns.jsonl"
    turns.write_bytes(turns.read_bytes().split(b"\n")[0] + b"\n")
    pipeline = ScriptedPipeline(script)
    again = await made(job, pipeline)
    assert again.asked == 2
    assert outcomes_of(again.run.records) == outcomes_of(whole.records)
    first, second = pipeline.queries
    assert [turn.question for turn in first.history] == [WHO[0]]
    history = [(turn.question, turn.answer) for turn in second.history]
    assert history == [(WHO[0], "It is by Mira Holm."), (PAGES[0], "200 pages")]
    assert first.photo == second.photo is not None


async def test_odd_text_is_sent(tmp_path: Path) -> None:
    odd: Turn = ("who wrote this?\u2028 And\x85\nwhen?", "Mira \u2029", WHO[2])
    job = task(tmp_path, [odd, WHO], [], Asking())
    assert (await made(job, ScriptedPipeline(script))).run.failures == {}
    assert (await made(job, ScriptedPipeline(script))).asked == 0


async def test_missing_photo_is_reported_with_each_question(tmp_path: Path) -> None:
    job = task(tmp_path, [WHO], [[WHO, PAGES]], Asking())
    (tmp_path / "world" / "photo.jpg").unlink()
    run = (await made(job, ScriptedPipeline(script))).run
    assert run.failures == {NO_PHOTO: 3}


async def test_unknown_pipeline_is_refused(tmp_path: Path) -> None:
    job = task(tmp_path, [WHO], [], Asking(pipeline="no-such"))
    with pytest.raises(RunStopped, match="there are: loreglass"):
        await made(job, ScriptedPipeline(script))
    assert not job.folder.exists()


async def test_run_needs_the_gateways_key(tmp_path: Path) -> None:
    key = ApiKey.new()
    (tmp_path / "keys.toml").write_text(entry(key, "acme", "interactive"))
    job = task(tmp_path, [WHO, WHO], [], Asking())
    async with scripted_gateway(ScriptedPipeline(script), keys=tmp_path / "keys.toml") as url:
        with pytest.raises(RunStopped, match="LOREGLASS_API_KEY"):
            async with connect(url):
                pass
        async with connect(url, key.text) as gateway:
            assert (await make_run(job, gateway)).run.failures == {}


async def test_full_disk_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    job = task(tmp_path, [WHO, WHO], [], Asking())
    monkeypatch.setattr(RunStore, "add", full)
    outcome = await made(job, ScriptedPipeline(script))
    assert "No space left" in str(outcome.stopped)
    assert outcome.run.records == ()


ANSWER = answered("a")
LOST = Unreachable("The gateway cannot be reached.")


class ScriptedCall:
    """A call that raises `failures` in order, then answers. `times` counts the attempts."""

    def __init__(self, *failures: LoreglassError) -> None:
        self._failures = list(failures)
        self.times = 0

    async def __call__(self, _: Experiment | None) -> Answer:
        self.times += 1
        if self._failures:
            raise self._failures.pop(0)
        return ANSWER


def questioner(waits: list[float] | None = None) -> Questioner:
    """Return a questioner that records its pauses in `waits` instead of sleeping."""

    async def wait(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    return Questioner(Experiment(explain=True), wait)


async def test_overloaded_gateway_is_retried_after_its_retry_after() -> None:
    waits = list[float]()
    refusals = [Overloaded(retry_after_s=2), Overloaded(), Overloaded(retry_after_s=900)]
    reply = await questioner(waits).put(ScriptedCall(*refusals))
    assert (reply.answer, reply.error, reply.asked_again) == (ANSWER, None, 3)
    assert waits == [2, 1, 30]


async def test_permanent_overload_is_an_outcome() -> None:
    reply = await questioner().put(ScriptedCall(*[Overloaded()] * (MOST_OVERLOADS + 1)))
    assert (reply.error, reply.asked_again) == ("overloaded", MOST_OVERLOADS)


async def test_unreachable_gateway_ends_the_run() -> None:
    with pytest.raises(RunStopped, match="same command again"):
        await questioner().put(ScriptedCall(*[LOST] * MOST_LOSSES))


async def test_question_that_breaks_the_connection_fails_alone() -> None:
    async def others_get_through(_: float) -> None:
        await asks.put(ScriptedCall())

    asks = Questioner(Experiment(explain=True), others_get_through)
    assert (await asks.put(ScriptedCall(*[LOST] * MOST_LOSSES))).error == "unreachable"


@pytest.mark.parametrize(
    "failure",
    [
        PipelineNotFound("No such."),
        Unauthorized("A key is needed."),
        InvalidRequest("experiment.thresholds: no_such is none."),
    ],
)
async def test_failure_common_to_all_questions_ends_the_run(failure: LoreglassError) -> None:
    with pytest.raises(RunStopped, match=failure.detail):
        await questioner().put(ScriptedCall(failure))


@pytest.mark.parametrize("make", [DeadlineExceeded, InvalidRequest, DependencyUnavailable])
async def test_other_failures_are_the_questions_outcome(make: Callable[[], LoreglassError]) -> None:
    call = ScriptedCall(make())
    reply = await questioner().put(call)
    assert (reply.answer, reply.error, call.times) == (None, make().kind, 1)
