"""A real `eval run`, killed half-way: gone on with, it asks nothing twice and comes to the same answers."""

import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from evaluation.runs.store import TURNS, load_run
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.runs.small_world import numbered, script, write_world

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[4]
CONCURRENCY = 2
SINGLES = 6


class HoldingPipeline(ScriptedPipeline):
    """Answers so many questions, then holds as many as are asked at once until it is let go."""

    def __init__(self, answered: int) -> None:
        super().__init__(script)
        self._free = answered
        self._held = 0
        self.all_held = anyio.Event()
        self.let_go = anyio.Event()

    async def work(self, ask: Query) -> Outcome:
        """Scripted, when it is let go."""
        self._free -= 1
        if self._free < 0 and not self.let_go.is_set():
            self._held += 1
            if self._held == CONCURRENCY:
                self.all_held.set()
            await self.let_go.wait()
        return await super().work(ask)


def command(world: Path, out: Path, url: str) -> list[str]:
    return [
        sys.executable, "-m", "evaluation", "run", str(world), "--out", str(out), "--gateway", url,
        "--concurrency", str(CONCURRENCY), "--deadline-ms", "60000",
    ]  # fmt: skip


async def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    answered = SINGLES + 2  # so that it is killed inside conversations
    questions = numbered(SINGLES + 6)
    world = write_world(
        tmp_path / "world", questions[:SINGLES], [questions[SINGLES : SINGLES + 3], questions[-3:]]
    )
    pipeline, broken = HoldingPipeline(answered), tmp_path / "broken"
    async with scripted_gateway(pipeline, experiments=True) as url:
        process = await anyio.open_process(command(world, broken, url), cwd=ROOT, stdout=None, stderr=None)
        with anyio.fail_after(60):
            await pipeline.all_held.wait()
        process.kill()
        await process.wait()
        await process.aclose()
        pipeline.let_go.set()
        assert len(load_run(broken).records) == answered
        with (broken / TURNS).open("ab") as turns:
            turns.write(b'{"interaction_id": "ques')  # as if it had been killed while it wrote
        gone_on = await anyio.run_process(command(world, broken, url), cwd=ROOT)
        asked = Counter(ask.question for ask in pipeline.asked)
    assert f"{len(questions) - answered} asked now, {len(questions)} in all" in gone_on.stdout.decode()
    assert set(asked) == {question for question, _, _ in questions}
    assert sum(asked.values()) <= len(questions) + CONCURRENCY
    assert [each.answer.answer for each in load_run(broken).records if each.answer] == [
        "It is by Mira Holm."
    ] * len(questions)
