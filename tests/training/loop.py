"""`make train-tiny`: all steps of training on the sample, with tiny models, on two cores in minutes.

What is trained learns nothing of use; each command is the one that trains a real model. A teacher that knows
the sample's answers stands where the base model of a real training writes the labels. Of the questions that
are asked before and after, most are learnt in between.
"""

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from bench.processes import PYTHON, serving
from chassis.startup import CannotStart
from chassis.telemetry.logs import configure_logging
from corpus.cli import index
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.one_process import Platform, started_platform
from deploy.settings import SAMPLE, VAR, LiteSettings, one_thread_each
from evaluation.data.opening import open_dataset
from gateway.clients.services import Services
from tests.training.teacher import MODEL as TEACHER
from tests.training.teacher import PLAN, teaching
from tests.training.tiny_models import tiny_mllama, tiny_qwen25_vl
from training.commands.train import require
from training.config import WrongConfig

_LOG = "log.txt"
_LOG_LINES = 12


class StepFailed(Exception):
    """A step failed. The message names it and has the last lines of its output."""


@dataclass
class Steps:
    """Everything is kept in the folder `out`."""

    out: Path
    console: Console = field(default_factory=lambda: Console(soft_wrap=True, highlight=False))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print the name before, and the seconds that it took after."""
        self.console.print(f"\n{name}", style="bold", markup=False)
        began = time.monotonic()
        yield
        self.console.print(f"{time.monotonic() - began:.0f} s", markup=False)

    def loreglass(self, *words: str | Path, **environment: str) -> None:
        """A command as a person would type it; its stderr goes to the log. Raises `StepFailed`."""
        given, line = [f"{name}={value}" for name, value in environment.items()], list(map(str, words))
        self._tell([*given, "loreglass", *line])
        log = self.out / _LOG
        with log.open("a") as errors:
            command = ["env", *given, sys.executable, "-m", "loreglass", *line]
            status = subprocess.run(command, stderr=errors, check=False).returncode
        if status:
            raise StepFailed(f"`loreglass {' '.join(line[:2])}` ended with {status}. {_end_of(log)}")

    @contextmanager
    def server(self, module: str, source: Path) -> Iterator[str]:
        """The address of a model server over `source`, which ends with the context. Raises `StepFailed`."""
        command = (*PYTHON, module, str(source.resolve()), "--port", "{port}")
        self._tell(["python", "-m", module, str(source)])
        with ExitStack() as stack:
            try:
                server = stack.enter_context(serving(*command, ready="/v1/models"))
            except RuntimeError as error:
                raise StepFailed(f"`python -m {module}` does not start. {error}") from error
            yield f"{server.url}/v1"

    @contextmanager
    def platform(self, model_url: str) -> Iterator[Platform]:
        """The pocket platform on free ports, its answers by that model. Raises `StepFailed`."""
        settings = LiteSettings(port=0, service_port=0, data_dir=self.out / "index", model=model_url)
        self._tell(["loreglass", "serve", "--model-url", model_url])
        failure: BaseException | None = None
        try:
            with started_platform(settings) as started:
                try:
                    yield started
                except (StepFailed, KeyboardInterrupt) as error:  # the platform would put it into a group
                    failure = error
        except CannotStart as error:
            raise StepFailed(f"The platform cannot start: {error}") from error
        if failure is not None:
            raise failure

    def _tell(self, command: list[str]) -> None:
        self.console.print(f"$ {shlex.join(command)}", markup=False)


def _end_of(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").replace("\r", "\n").splitlines()[-_LOG_LINES:]
    return "\n".join([f"{log} ends:", *(f"    {line}" for line in lines)])


_MARK = "made-by-train-tiny"
_PIPELINES = ("three-step", "wiki-prf")
_TASKS = ("query", "rerank", "answer")
_MLLAMA, _QWEN = "tiny-mllama", "tiny-qwen2.5-vl"
_SERVING = "tests.training.tiny_server"
_TOKENIZER_SIZE = 1800
_LIMIT, _TEACHER_LIMIT = 6, 16
_DEADLINE_MS = 60_000
"""Of a question. With less, a tiny model on a processor is slow enough for steps to be left out."""


def _make_models(steps: Steps) -> None:
    """The tokenizer is made from the prompts and the questions, so that they are short."""
    sample, root = open_dataset(str(SAMPLE)), Path(__file__).resolve().parents[1]
    turns = [turn for talk in sample.conversations for turn in talk.turns]
    prompts = [path.read_text("utf-8") for path in sorted((root / "gateway").rglob("prompts/*.toml"))]
    words = [*prompts, PLAN, *(f"{turn.question}\n{turn.gold}" for turn in turns)]
    tiny_mllama(_model(steps, _MLLAMA), words, _TOKENIZER_SIZE)
    tiny_qwen25_vl(_model(steps, _QWEN), words, _TOKENIZER_SIZE)


def _teach(steps: Steps) -> None:
    with teaching(SAMPLE) as teacher, steps.platform(teacher) as started:
        urls = started.service_urls
        photos, pages = SAMPLE / "images.jsonl", SAMPLE / "pages.jsonl"
        if index(ingest_photos, "images", photos, urls["image_search"], IngestOptions(replace=True)):
            raise StepFailed("The photos could not be indexed.")
        if index(ingest_pages, "pages", pages, urls["text_search"], IngestOptions(replace=True)):
            raise StepFailed("The pages could not be indexed.")
        _ask(steps, "teacher", started, _TEACHER_LIMIT)


def _make_data(steps: Steps) -> None:
    runs = [_run(steps, f"teacher-{pipeline}") for pipeline in _PIPELINES]
    tasks = [word for task in (*_TASKS, "filter") for word in ("--task", task)]
    steps.loreglass("train", "data", *runs, *tasks, "--out", steps.out / "data")
    steps.loreglass("train", "data", SAMPLE, "--task", "question", "--out", steps.out / "questions")


def _answer(steps: Steps, model: str, name: str) -> None:
    with steps.server(_SERVING, _model(steps, model)) as url, steps.platform(url) as started:
        _ask(steps, name, started, _LIMIT)


def _fine_tune(steps: Steps, name: str, weights: str, tasks: tuple[str, ...], most_steps: int) -> None:
    config = _config(
        steps,
        name,
        weights,
        tasks=list(tasks),
        batch_size=4,
        most_steps=most_steps,
        max_reply_tokens=120,
        held_out=12,
        log_every=5,
    )
    steps.loreglass("train", "sft", config, steps.out / "data", "--out", _run(steps, name))


def _reinforce(steps: Steps) -> None:
    """From the fine-tuned LoRA; the teacher is the frozen base."""
    with teaching(SAMPLE) as teacher, steps.platform(teacher) as started:
        config = _config(
            steps,
            "grpo-qwen",
            _QWEN,
            adapter=str(_run(steps, "sft-qwen") / "adapter"),
            base={"url": teacher, "model": TEACHER},
            answer_by="scorer",
            group=4,
            batch_size=8,
            most_steps=6,
            learning_rate=1.0e-3,
            held_out=4,
        )
        urls = {
            f"LOREGLASS_GATEWAY_{each.upper()}_URL": started.service_urls[each] for each in Services.names()
        }
        data, out = steps.out / "questions", _run(steps, "grpo-qwen")
        steps.loreglass("train", "grpo", config, data, "--out", out, **urls)


def _merge(steps: Steps) -> None:
    for run, preset in (("sft-mllama", "llama-3.2-11b-vision"), ("grpo-qwen", "qwen2.5-vl-7b")):
        merged = ("--out", _model(steps, run), "--preset", preset)
        steps.loreglass("train", "merge", _run(steps, run), *merged)


def _report(steps: Steps) -> None:
    runs = [_run(steps, f"{when}-{pipeline}") for pipeline in _PIPELINES for when in ("before", "after")]
    steps.loreglass("eval", "report", *runs, "--out", steps.out / "answers")
    trained = [_run(steps, name) for name in ("sft-mllama", "sft-qwen", "grpo-qwen")]
    steps.loreglass("train", "report", *trained, "--out", steps.out / "training.md")


def _ask(steps: Steps, name: str, started: Platform, limit: int) -> None:
    """A run of each pipeline, with what the model was asked and wrote."""
    for pipeline in _PIPELINES:
        options = ("--pipeline", pipeline, "--name", f"{pipeline}, {name}", "--model-calls")
        which = ("--part", "single", "--limit", str(limit), "--deadline-ms", str(_DEADLINE_MS))
        out = ("--gateway", started.gateway_url, "--out", _run(steps, f"{name}-{pipeline}"))
        steps.loreglass("eval", "run", SAMPLE, *options, *which, *out)


def _run(steps: Steps, name: str) -> Path:
    return steps.out / "runs" / name


def _model(steps: Steps, name: str) -> Path:
    return steps.out / "models" / name


def _config(steps: Steps, name: str, weights: str, **settings: Any) -> Path:
    """A file of settings under which a tiny model learns in a few steps."""
    config = {
        "model": {
            "weights": str(_model(steps, weights)),
            "dtype": "float32",
            "gradient_checkpointing": False,
        },
        "lora": {"rank": 16, "alpha": 32, "dropout": 0.0},
        "epochs": 100,
        "learning_rate": 5.0e-3,
        "schedule": "constant",
        "device_batch_size": 1,
    }
    path = steps.out / f"{name}.yaml"
    path.write_text(yaml.safe_dump(config | settings, sort_keys=False))
    return path


_STEPS: tuple[tuple[str, Callable[[Steps], None]], ...] = (
    ("Tiny models of random weights", _make_models),
    ("Index the sample; the teacher answers its questions", _teach),
    ("Data sets from these runs", _make_data),
    ("Before: the untrained Qwen2.5-VL answers", partial(_answer, model=_QWEN, name="before")),
    (
        "SFT of Llama-3.2-Vision",
        partial(_fine_tune, name="sft-mllama", weights=_MLLAMA, tasks=_TASKS, most_steps=80),
    ),
    (
        "SFT of Qwen2.5-VL",
        partial(_fine_tune, name="sft-qwen", weights=_QWEN, tasks=("answer", "filter"), most_steps=100),
    ),
    ("GRPO of Qwen2.5-VL over the running platform", _reinforce),
    ("Merge what was learnt", _merge),
    ("After: the trained Qwen2.5-VL answers", partial(_answer, model="grpo-qwen", name="after")),
    ("Reports", _report),
)


def _begin(out: Path) -> None:
    """An empty folder; one that an earlier run made is deleted. Raises `StepFailed` for any other."""
    if out.exists() and any(out.iterdir()) and not (out / _MARK).exists():
        raise StepFailed(f"{out} holds something else: choose another folder.")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / _MARK).touch()


def main(
    out: Annotated[Path, typer.Option(help="begun anew each time", file_okay=False)] = VAR / "train-tiny",
) -> None:
    """Data, SFT, GRPO, merging, serving, reports. Exits with 1 where a step fails."""
    one_thread_each()
    configure_logging("error")
    steps = Steps(out)
    try:
        require()
        _begin(out)
        for name, work in _STEPS:
            with steps.step(name):
                work(steps)
    except (StepFailed, WrongConfig) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped.")
    merged = _model(steps, "grpo-qwen")
    steps.console.print(f"With a GPU it is served by: python -m services.vlm --model {merged}")
    steps.console.print(f"Reports: {out / 'training.md'} and {out / 'answers' / 'report.html'}")


if __name__ == "__main__":
    typer.run(main)
