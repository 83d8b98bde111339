"""Runs under thresholds that cannot be replayed: the same questions, asked again for every combination."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

from evaluation.calibration.replay import ASKED_AGAIN, CalibrationError
from evaluation.data.model import Dataset, Part
from evaluation.runs.asking import Asking
from evaluation.runs.running import Gateway, Task, make_run
from evaluation.runs.store import Run
from evaluation.runs.tally import Tally, watched

MOST_RUNS = 100


def combinations(given: Sequence[str]) -> list[dict[str, float]]:
    """All of `name=v1,v2,…`. Raises `CalibrationError` for what is no such thing, or too much."""
    values: dict[str, list[float]] = {}
    for each in given:
        name, _, listed = each.partition("=")
        if name not in ASKED_AGAIN or name in values:
            raise CalibrationError(f"--ask takes each of {', '.join(ASKED_AGAIN)} once, not {each!r}.")
        try:
            values[name] = list(dict.fromkeys(float(value) for value in listed.split(",")))
        except ValueError as error:
            raise CalibrationError(f"{each!r} is not NAME=NUMBER,NUMBER,….") from error
        if not all(0.0 <= value <= 1.0 for value in values[name]):
            raise CalibrationError(f"{each!r}: thresholds lie in 0..1.")
    combined = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    if len(combined) > MOST_RUNS:
        raise CalibrationError(f"That is {len(combined)} runs; at most {MOST_RUNS} are made.")
    return combined


async def ask_again(
    like: Run,
    dataset: Dataset,
    settings: Sequence[Mapping[str, float]],
    folder: Path,
    gateway: Gateway,
    concurrency: int,
) -> list[Run]:
    """A run like that one for every setting, in `folder`; what was asked before is not asked again.

    Raises `CalibrationError` for another dataset, `RunStopped` and `RunError`.
    """
    header = like.header
    if dataset.fingerprint != header.fingerprint:
        raise CalibrationError(f"{dataset.name} is not what {like.folder} asked; name the same dataset.")
    runs = []
    for setting in settings:
        asking = Asking(
            concurrency,
            header.deadline_ms,
            header.pipeline,
            {**header.thresholds, **setting},
            explain=True,
            without=tuple(header.without),
        )
        name = ",".join(f"{name}={value:g}" for name, value in setting.items())
        choice = {"limit": header.limit, "seed": header.seed, "squad": header.settings.get("squad")}
        task = Task(dataset, folder / name, asking, f"{header.name} {name}", choice)
        with watched(Tally(), task.turns, name) as on_record:
            made = await make_run(task, gateway, on_record=on_record)
        if made.stopped:
            raise made.stopped
        runs.append(made.run)
    return runs


def only_part(run: Run) -> Part | None:
    """The part that was asked; None: both."""
    parts = {record.part for record in run.records}
    return parts.pop() if len(parts) == 1 else None
