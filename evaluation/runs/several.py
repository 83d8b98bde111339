"""Several systems asked the same questions, one after the other, each in a run of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.data.model import Dataset
from evaluation.runs.asking import Asking
from evaluation.runs.gateway import Gateway
from evaluation.runs.progress import watched
from evaluation.runs.running import Task, make_run
from evaluation.runs.store import Run
from evaluation.runs.systems import System
from evaluation.runs.tally import Tally
from evaluation.scoring.scored import Scored


async def ask_several(
    dataset: Dataset,
    folder: Path,
    systems: Sequence[str],
    asking: Asking,
    gateway: Gateway,
    choice: Mapping[str, Any],
) -> list[tuple[Run, list[Scored]]]:
    """Each system's run in `folder`/<its name>, complete, with what the rule judge says of it.

    What was asked before is not asked again. One at a time, so that no system waits for another's questions.
    Raises `RunStopped` and `RunError`; what has been answered until then is kept.
    """
    done: list[tuple[Run, list[Scored]]] = []
    for name in systems:
        system = System.named(name)
        asked = replace(asking, pipeline=system.pipeline, without=system.without)
        task = Task(dataset, folder / name, asked, name, choice)
        tally = Tally()
        with watched(tally, task.turns, name) as on_record:
            made = await make_run(task, gateway, on_record=on_record)
        if made.stopped:
            raise made.stopped
        done.append((made.run, tally.scored(made.run.records)))
    return done
