"""Thresholds that cannot be replayed: the platform is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
import typer
from typer.testing import CliRunner, Result

from evaluation.calibration.asking_again import combinations
from evaluation.calibration.promise import Promise
from evaluation.calibration.replay import CalibrationError
from evaluation.cli import app as evaluation_app
from evaluation.commands.calibrate import calibrate, promise_file
from evaluation.runs.store import load_run
from gateway.planning.run import Run
from gateway.state import Query, Quote, Reply
from gateway.steps.conclusion import Outcome, conclude
from gateway.thresholds import PACKAGED, Thresholds, load_thresholds
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.runs.small_world import WHO, write_world
from tests.unit.gateway.test_explained_replay import CONTEXT

QUESTIONS = 10
app = typer.Typer()
app.command()(calibrate)


class ReadsMoreOrLess(ScriptedPipeline):
    """Finds the author only while it reads what is barely relevant."""

    def __init__(self, thresholds: Thresholds) -> None:
        super().__init__(self._say)
        self.thresholds = thresholds

    def using(self, thresholds: Thresholds) -> ReadsMoreOrLess:
        """The same with others."""
        return ReadsMoreOrLess(thresholds)

    def _say(self, ask: Query) -> Outcome:
        raise NotImplementedError

    async def answer(self, ask: Query, run: Run) -> Outcome:
        """Right while tau_fine is low."""
        said = "Mira Holm wrote it." if self.thresholds.tau_fine < 0.3 else "Otto Blau wrote it."
        reply = Reply(said, 0.8, (Quote(0, "A fact."),))
        run.explain.proposed(said)
        run.explain.signal("answer_confidence", reply.confidence)
        return conclude(ask.question, reply, None, CONTEXT, None, (), self.thresholds, explain=run.explain)


def test_all_combinations_are_made() -> None:
    made = combinations(["tau_fine=0.4,0.5", "same_thing=0.3"])
    assert made == [{"tau_fine": 0.4, "same_thing": 0.3}, {"tau_fine": 0.5, "same_thing": 0.3}]


@pytest.mark.parametrize(
    "wrong",
    [["supported=0.4"], ["tau_fine=a"], ["tau_fine=2"], ["tau_fine="], ["tau_fine=.1", "tau_fine=.2"]],
)
def test_what_is_no_list_of_such_values_is_refused(wrong: list[str]) -> None:
    with pytest.raises(CalibrationError):
        combinations(wrong)


def test_too_many_runs_are_refused() -> None:
    values = ",".join(str(k / 20) for k in range(20))
    with pytest.raises(CalibrationError, match="400 runs"):
        combinations([f"tau_fine={values}", f"tau_coarse={values}"])


async def invoke(command: typer.Typer, *arguments: object) -> Result:
    told = [str(argument) for argument in arguments]
    return await anyio.to_thread.run_sync(partial(CliRunner().invoke, command, told))


@pytest.mark.anyio
async def test_every_setting_is_asked_once_and_the_best_is_chosen(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO] * QUESTIONS, [])
    out = tmp_path / "thresholds.toml"
    options = ["--base", PACKAGED, "--ask", "tau_fine=0.2,0.5", "--dataset", world, "--overwrite"]
    async with scripted_gateway(ReadsMoreOrLess(load_thresholds()), experiments=True) as url:
        where = ["--gateway", url]
        made = await invoke(evaluation_app, "run", world, "--out", tmp_path / "dev", *where)
        assert made.exit_code == 0, made.output
        first = await invoke(app, tmp_path / "dev", "--out", out, *options, *where)
    assert first.exit_code == 0, first.output
    assert load_thresholds(out).tau_fine == 0.2
    promise = Promise.model_validate_json(promise_file(out).read_bytes())
    assert promise.changed["tau_fine"] == (0.5, 0.2)
    assert promise.after.accuracy == 1.0
    asked: Mapping[str, int] = {
        folder.name: len(load_run(folder).records) for folder in out.with_suffix(".asked").iterdir()
    }
    assert asked == {"tau_fine=0.2": QUESTIONS, "tau_fine=0.5": QUESTIONS}
