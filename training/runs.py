"""A training run on disk: the same files and logs for every kind of training.

RUN/config.yaml          all settings
RUN/metrics.jsonl        one line a logged step: step, seconds, and numbers by name
RUN/tensorboard/         the same numbers of SFT and GRPO, for TensorBoard
RUN/checkpoints/         what an interrupted run continues from
RUN/predictions-*.jsonl  replies to the held-out part, before and after
RUN/rollouts.jsonl       of GRPO: each rollout and its rewards
RUN/left-out.jsonl       rows that are not learnt, with the reason
RUN/summary.json         the results
"""

import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from chassis.files import replace_text
from chassis.validation import first_fault
from training.samples import ConversationSample, RejectedRow, Row, Task, Text, UnreadableData

CONFIG, METRICS, SUMMARY = "config.yaml", "metrics.jsonl", "summary.json"
LEFT_OUT, ROLLOUTS = "left-out.jsonl", "rollouts.jsonl"
BEFORE, AFTER = "before", "after"
ADAPTER = "adapter"
"""Where in a run the LoRA lies, as PEFT saves it."""
_SAID = 5


class RunRefused(Exception):
    """This training cannot use the folder; the message says why and what to do."""


class Prediction(Row):
    """A model's reply to one held-out sample. `confidence`: the mean probability of its tokens, 0..1.

    `calls`: 1 if it called a tool; `in_form`: whether the reply has the required form, if there is one.
    """

    sample: str
    task: Task
    question: Text = ""
    said: Text
    gold: Text = ""
    label: Text = ""
    truth: dict[str, Any] | None = None
    confidence: float | None = None
    calls: int | None = None
    in_form: bool | None = None

    @classmethod
    def of(cls, sample: ConversationSample, said: str, confidence: float) -> "Prediction":
        return cls(
            sample=sample.id,
            task=sample.task,
            question=sample.question,
            said=said,
            gold=sample.gold,
            label=sample.label,
            truth=sample.truth,
            confidence=round(confidence, 4),
        )


class Summary(Row):
    """The results. `samples`: learnt, by task or part; `held_out`: how many, or a head's figures."""

    kind: str
    samples: dict[str, int] = {}
    questions: int | None = None
    held_out: int | dict[str, Any] = 0
    rewards: dict[str, float] = {}


class Rollout(Row):
    """One rollout with its rewards before weights. `failed`: stages whose service failed.

    `own_tokens`: of its `tokens` those that the trained model wrote.
    """

    step: int
    sample: str
    question: Text = ""
    gold: Text = ""
    plan: Text | None = None
    knowledge: Text | None = None
    answer: Text = ""
    rewards: dict[str, float]
    failed: tuple[str, ...] = ()
    own_tokens: int = 0
    tokens: int = 0


@dataclass(slots=True)
class RunFolder:
    """One run. `say`: prints a line for people.

    `writes`: of several processes that train together, only one writes and prints.
    """

    path: Path
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: T201
    writes: bool = True
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if not self.writes:
            self.say = lambda _: None

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def begin(self, config: str) -> None:
        """Take the folder for a run with these settings, as YAML, or go on with the run that has them.

        Raises `RunRefused` if the folder holds another run.
        """
        if not self.writes:
            return
        file = self.path / CONFIG
        if file.exists():
            if file.read_text("utf-8") != config:
                raise RunRefused(
                    f"{self.path} holds a run with other settings: compare {file}, or choose another folder."
                )
            return
        if self.path.exists() and any(self.path.iterdir()):
            raise RunRefused(f"{self.path} is not empty and holds no run: choose another folder.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunRefused(f"{self.path} cannot be made: {error.strerror}.") from error
        self.write(CONFIG, config)

    def config(self) -> dict[str, Any]:
        """Return the settings. Raises `UnreadableData` if the folder holds no run."""
        path = self.path / CONFIG
        try:
            config = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise UnreadableData(f"{self.path} holds no run: {CONFIG} cannot be read.") from error
        if not isinstance(config, dict):
            raise UnreadableData(f"{path} holds no settings.")
        return config

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Append a line to the log, without numbers that are not finite."""
        finite = {name: float(value) for name, value in numbers.items() if math.isfinite(value)}
        line = {"step": step, "seconds": round(time.monotonic() - self._began, 3), **finite}
        self._append(METRICS, json.dumps(line) + "\n")

    def go_on_after(self, step: int) -> None:
        """Drop log lines after the step of the checkpoint that the run continues from; 0 without one."""
        logged, rollouts = self.metrics(), self.rollouts()
        if logged:
            lines = [json.dumps(line) for line in logged if line["step"] <= step]
            self.write(METRICS, "".join(f"{line}\n" for line in lines))
        if rollouts:
            self.write(ROLLOUTS, _as_lines([each for each in rollouts if each.step < step]))
        if step:
            self.say(f"Going on after step {step}.")

    def metrics(self) -> list[dict[str, Any]]:
        """Return the logged lines. Raises `UnreadableData`."""
        lines = _lines(self.path / METRICS)
        if not all(isinstance(line.get("step"), int) for line in lines):
            raise UnreadableData(f"{self.path / METRICS} holds a line without a step.")
        return lines

    def add_rollouts(self, rollouts: Sequence[Rollout]) -> None:
        self._append(ROLLOUTS, _as_lines(rollouts))

    def rollouts(self) -> list[Rollout]:
        """Return all rollouts in order. Raises `UnreadableData`."""
        return _rows(self.path / ROLLOUTS, Rollout)

    def leave_out(self, rows: Sequence[RejectedRow]) -> None:
        """Store which rows are not learnt, and print the first ones."""
        self.write(LEFT_OUT, _as_lines(rows))
        for row in rows[:_SAID]:
            self.say(f"Left out: {row.where}: {row.why}.")
        if len(rows) > _SAID:
            self.say(f"Left out, too: {len(rows) - _SAID} more, in {self.path / LEFT_OUT}.")

    def write_predictions(self, when: str, predictions: list[Prediction]) -> None:
        """Write predictions. `when`: `BEFORE` or `AFTER` training."""
        self.write(self._predictions(when).name, _as_lines(predictions))

    def has_predictions(self, when: str) -> bool:
        return self._predictions(when).exists()

    def predictions(self, when: str) -> list[Prediction]:
        """Return predictions. Raises `UnreadableData` if there are none."""
        if not self.has_predictions(when):
            raise UnreadableData(f"{self._predictions(when)} is missing.")
        return _rows(self._predictions(when), Prediction)

    def summary(self) -> Summary:
        """Return the results. Raises `UnreadableData` if the training has not ended."""
        path = self.path / SUMMARY
        try:
            return Summary.model_validate_json(path.read_bytes())
        except OSError as error:
            raise UnreadableData(f"{self.path} holds no training that has ended.") from error
        except ValidationError as error:
            raise UnreadableData(f"{path}: {first_fault(error)}.") from error

    def left_out(self) -> list[RejectedRow]:
        """Return the rows that were not learnt. Raises `UnreadableData`."""
        return _rows(self.path / LEFT_OUT, RejectedRow)

    def finish(self, summary: Mapping[str, Any]) -> None:
        self.write(SUMMARY, json.dumps(summary, indent=1) + "\n")

    def write(self, name: str, text: str) -> None:
        """Write a file of the run atomically."""
        if self.writes:
            replace_text(self.path / name, text)

    def _append(self, name: str, text: str) -> None:
        if self.writes:
            with (self.path / name).open("a", encoding="utf-8") as file:
                file.write(text)

    def _predictions(self, when: str) -> Path:
        return self.path / f"predictions-{when}.jsonl"


Kind = TypeVar("Kind", bound=Row)


def _as_lines(rows: Sequence[Row]) -> str:
    return "".join(f"{row.model_dump_json(exclude_defaults=True)}\n" for row in rows)


def _rows(path: Path, kind: type[Kind]) -> list[Kind]:
    try:
        return [kind.model_validate(line) for line in _lines(path)]
    except ValidationError as error:
        raise UnreadableData(f"{path}: {first_fault(error)}.") from error


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a log, without lines that a killed process cut off."""
    objects = list[dict[str, Any]]()
    for line in path.read_bytes().decode("utf-8", "replace").split("\n") if path.exists() else ():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if not isinstance(value, dict):
            raise UnreadableData(f"{path} holds a line that is no object: {line[:40]}")
        objects.append(value)
    return objects
