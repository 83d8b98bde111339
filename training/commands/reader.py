"""`loreglass train reader`: the small encoder that reads, ranks and verifies without a language model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from training.commands.train import require, says_why

if TYPE_CHECKING:
    from training.reader.tasks import ReadingTask

_WINDOW_TOKENS = 224
_CLAUSES = Path(__file__).parents[1] / "reader/clauses.jsonl"

Files = Annotated[
    list[Path],
    typer.Argument(exists=True, help="questions with passages: JSON lines (.gz too), SQuAD's JSON"),
]
Tune = Annotated[
    list[Path],
    typer.Option(
        exists=True,
        help="questions that calibrate; articles of files in SQuAD's format are left out of the fit",
    ),
]


def reader(
    files: Files,
    base: Annotated[Path, typer.Option(exists=True, help="folder of a BERT with its tokenizer.json")],
    tune: Tune,
    out: Annotated[Path, typer.Option(help="Run folder. An interrupted run is resumed.")],
    epochs: Annotated[float, typer.Option(help="Training epochs")] = 2.0,
    seed: Annotated[int, typer.Option(help="Random seed")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads")] = 2,
    device: Annotated[str, typer.Option(help="auto (CUDA if there is one), cpu, cuda or cuda:N")] = "auto",
    bf16: Annotated[bool, typer.Option(help="faster on processors with AVX-512 BF16 or AMX")] = False,
    limit: Annotated[int, typer.Option(help="Questions per --tune file used for calibration.")] = 500,
    after: Annotated[
        Path | None,
        typer.Option(exists=True, help="Start from this finished run and add near-miss passages."),
    ] = None,
    keep: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="share of --after in the exported weights, which are a mean"),
    ] = 0.0,
    clauses: Annotated[
        Path,
        typer.Option(
            exists=True, show_default=False, help="long sentences with the clause to say; else the project's"
        ),
    ] = _CLAUSES,
    name: Annotated[str, typer.Option(help="Model name")] = "loreglass-reader",
) -> None:
    """Fit the encoder, export it with int8 weights, calibrate it, and report how well it reads."""
    with says_why():
        require("torch", "transformers", "onnx", "sklearn")
        import torch

        from chassis.accelerator import Placement, open_accelerator
        from chassis.files import replace_text
        from training.reader.clauses import fit_clauses, read_clauses
        from training.reader.export import mean_of_runs, write_reader
        from training.reader.fit import SECOND_ROUND, Plan, fit
        from training.reader.measure import show_report
        from training.reader.model import tokenizer
        from training.reader.rows import read_rows, squad_rows
        from training.reader.tasks import read_tasks

        torch.set_num_threads(threads)
        accelerator = open_accelerator(Placement(device)).device
        articles = [row for file in tune if file.suffix == ".json" for row in squad_rows(file)]
        titles = frozenset(row.title.replace(" ", "_") for row in articles)
        plan = replace(SECOND_ROUND if after else Plan(), epochs=epochs, seed=seed, bf16=bf16)
        fit(read_rows(files, titles), base, out, plan, after, accelerator)
        weights = out / "weights"
        model = mean_of_runs(out, base, after, keep)
        head = fit_clauses(model, read_clauses(clauses), tokenizer(base, _WINDOW_TOKENS), seed, accelerator)
        write_reader(model, head, base, weights, name, _WINDOW_TOKENS)
        report = _calibrate(weights, {file: read_tasks(file, limit, depth=5, seed=seed) for file in tune})
        replace_text(out / "report.json", json.dumps(report, indent=1) + "\n")
        show_report(report)
        typer.echo(f"written: {weights}")


def _calibrate(weights: Path, tasks: "Mapping[Path, Sequence[ReadingTask]]") -> dict[str, Any]:
    """Fit the exported reader's probabilities to the tasks; return its figures by file."""
    from chassis.models.encoders import CrossEncoder
    from training.reader.calibrate import calibrate
    from training.reader.measure import figures_of, measure

    calibrate(weights, [task for of_file in tasks.values() for task in of_file])
    fitted = CrossEncoder(weights)
    return {str(file): figures_of(list(measure(of_file, fitted))) for file, of_file in tasks.items()}
