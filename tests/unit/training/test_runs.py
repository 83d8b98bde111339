"""A training run on disk, written by one of the processes that train together."""

from pathlib import Path

import pytest

from training.commands.train import open_run
from training.config import Settings
from training.runs import AFTER, Rollout, RunFolder
from training.samples import RejectedRow


def test_of_several_processes_only_the_main_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened_by(main: bool) -> RunFolder:
        monkeypatch.setattr("training.trainers.on_main", lambda: main)
        return open_run(tmp_path / "run", Settings())

    def write_everything(run: RunFolder) -> None:
        run.log(1, {"loss": 1.0})
        run.add_rollouts([Rollout(step=0, sample="s", rewards={})])
        run.leave_out([RejectedRow(where="line 1", why="it is broken")])
        run.write_predictions(AFTER, [])
        run.finish({"kind": "sft"})

    main, other = (opened_by(each) for each in (True, False))
    write_everything(other)
    assert {path.name for path in main.path.iterdir()} == {"config.yaml"}
    write_everything(main)
    other.go_on_after(0)
    assert (len(main.metrics()), len(main.rollouts())) == (1, 1)


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_its_logs_anew(tmp_path: Path) -> None:
    run = RunFolder(tmp_path, say=lambda _: None)
    run.log(1, {"loss": 1.0})
    run.add_rollouts([Rollout(step=0, sample="s", rewards={})])
    run.go_on_after(0)
    assert (run.metrics(), run.rollouts()) == ([], [])
