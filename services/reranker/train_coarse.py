"""Train the coarse stage's head: `python -m services.reranker.train_coarse ROWS... --output HEAD`.

ROWS are JSONL files of questions, photos, answering texts and others, see `tuning/rows.py`. A projection of
the Q-Former's query tokens for (question, photo) learns to meet the texts that answer; BLIP-2 itself stays as
it is. Writes HEAD (safetensors) and a report beside it (the same name with .json). Seeded; float32. A run
that was broken off goes on from HEAD's .partial file, if rows and recipe are the same.
"""

import argparse
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from chassis.accelerator import Placement, open_accelerator
from chassis.models.pretrained import WrongWeights
from chassis.models.qformer import DEFAULT_MODEL, QFormer
from chassis.models.witness import witness
from chassis.training_rows import UnreadableRows
from services.reranker.engines.coarse_head import CoarseHead
from services.reranker.tuning.contrastive import (
    Encoded,
    Epoch,
    Fit,
    Recall,
    Recipe,
    fit,
    projected,
    recall,
    similarities,
)
from services.reranker.tuning.rows import Reading, Row, Split, by_photo, pixels, read_rows

_REACHED_BY = 0.95  # of the validation part's answering texts: tau_coarse


class CannotTrain(Exception):
    """The rows do not allow it; the message says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """`validation`, `held_out`: shares of the photos."""

    rows: tuple[Path, ...]
    output: Path
    model: str = DEFAULT_MODEL
    device: str = "auto"
    validation: float = 0.15
    held_out: float = 0.15
    recipe: Recipe = field(default_factory=Recipe)


@dataclass(frozen=True, slots=True)
class Report:
    """`before`: as the service ranks without a head, by the photo alone; both on the held-out part."""

    reading: Reading
    split: Split
    fitted: Fit
    threshold: float
    before: Recall
    after: Recall


def train(run: Run) -> Report:
    """Read, split, encode, fit, measure, and write checkpoint and report.

    Raises `UnreadableRows`, `CannotTrain` and `WrongWeights`.
    """
    if not run.output.parent.is_dir():
        raise CannotTrain(f"There is no folder {run.output.parent} for the checkpoint.")
    reading = read_rows(run.rows)
    _say(f"{each.place}: {each.problem}" for each in reading.malformed)
    split = by_photo(reading.rows, run.validation, run.held_out, run.recipe.seed)
    if not (split.training and split.validation and split.held_out):
        raise CannotTrain(f"{len(reading.rows)} rows are too few: each part needs a photo of its own.")
    qformer = QFormer.from_pretrained(run.model, open_accelerator(Placement(run.device, "float32")))
    encoded = _encoded(qformer, reading.rows, run.recipe.batch_size)
    projection = qformer.model.vision_projection
    partial = run.output.with_suffix(f".{_identity(run, reading.rows)}.partial")
    fitted = fit(encoded, split, run.recipe, (projection.weight, projection.bias), partial, _watch)
    report = _measured(qformer, reading, split, encoded, fitted)
    head = CoarseHead(fitted.weight, fitted.bias, report.threshold, run.model, witness(qformer))
    head.save(run.output)
    run.output.with_suffix(".json").write_text(json.dumps(_as_json(run, report), indent=1) + "\n", "utf-8")
    partial.unlink(missing_ok=True)
    _say([f"held out, by the photo alone: {report.before}", f"held out, by the head: {report.after}"])
    return report


def _encoded(qformer: QFormer, rows: Sequence[Row], batch_size: int) -> Encoded:
    texts = sorted({text for row in rows for text in (row.positive, *row.negatives)})
    places = {text: place for place, text in enumerate(texts)}
    states, vectors = [], []
    for start in tqdm(range(0, len(rows), batch_size), desc="reading questions and photos", unit="batch"):
        asked = [(row.question, pixels(row.photo)) for row in rows[start : start + batch_size]]
        states += qformer.encode_questions(asked)
    for start in tqdm(range(0, len(texts), batch_size), desc="reading texts", unit="batch"):
        vectors += qformer.text_vectors(texts[start : start + batch_size])
    device = qformer.accelerator.device
    return Encoded(
        torch.from_numpy(np.stack(states)).to(device),
        torch.from_numpy(np.stack(vectors)).to(device),
        tuple(places[row.positive] for row in rows),
        tuple(tuple(places[text] for text in row.negatives) for row in rows),
    )


def _measured(qformer: QFormer, reading: Reading, split: Split, encoded: Encoded, fitted: Fit) -> Report:
    device = qformer.accelerator.device
    head = (torch.from_numpy(fitted.weight).to(device), torch.from_numpy(fitted.bias).to(device))
    held_out = list(split.held_out)
    alone = [qformer.photo_vectors([pixels(reading.rows[place].photo)])[0] for place in held_out]
    places = list(split.validation)
    cosines = similarities(projected(encoded.states[places], *head), encoded.texts)
    reached = [float(cosines[n, encoded.positives[place]]) for n, place in enumerate(places)]
    return Report(
        reading=reading,
        split=split,
        fitted=fitted,
        threshold=min(0.99, max(0.0, float(np.quantile(reached, 1 - _REACHED_BY)))),
        before=recall(torch.from_numpy(np.stack(alone)).to(device), encoded, held_out),
        after=recall(projected(encoded.states[held_out], *head), encoded, held_out),
    )


def _identity(run: Run, rows: Sequence[Row]) -> str:
    """Of all that the result depends on, but for where photos and weights lie."""
    told = [[row.question, row.digest, row.positive, row.negatives] for row in rows]
    shares = [run.model, run.validation, run.held_out]
    return hashlib.sha256(json.dumps([told, shares, asdict(run.recipe)]).encode()).hexdigest()[:16]


def _as_json(run: Run, report: Report) -> dict[str, Any]:
    return {
        "base_model": run.model,
        "recipe": asdict(run.recipe),
        "rows": {part: len(places) for part, places in asdict(report.split).items()},
        "malformed": [asdict(each) for each in report.reading.malformed],
        "epochs": [asdict(each) for each in report.fitted.epochs],
        "best_epoch": report.fitted.best.number,
        "threshold": report.threshold,
        "held_out": {"photo_alone": asdict(report.before), "head": asdict(report.after)},
    }


def _watch(epoch: Epoch) -> None:
    _say([f"epoch {epoch.number:3d}: loss {epoch.loss:.4f}, validation MRR {epoch.mrr:.3f}"])


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201


def parse(arguments: Sequence[str] | None = None) -> Run:
    """The command line's `Run`."""
    recipe = Recipe()
    parser = argparse.ArgumentParser(prog="python -m services.reranker.train_coarse", description=__doc__)
    parser.add_argument("rows", nargs="+", type=Path, help="JSONL files")
    parser.add_argument("--output", type=Path, required=True, help="the checkpoint, a .safetensors file")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="local folder or hub id (%(default)s)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--validation", type=float, default=0.15, help="share of the photos (%(default)s)")
    parser.add_argument("--held-out", type=float, default=0.15, help="share of the photos (%(default)s)")
    for name, value in asdict(recipe).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    given = parser.parse_args(arguments)
    if given.output.suffix != ".safetensors":
        parser.error("--output must end in .safetensors")
    if not (given.validation > 0 and given.held_out > 0 and given.validation + given.held_out < 1):
        parser.error("--validation and --held-out must be above 0, and both together below 1")
    if min(given.epochs, given.patience, given.batch_size) < 1 or given.temperature <= 0:
        parser.error("--epochs, --patience and --batch-size must be at least 1, --temperature above 0")
    return Run(
        rows=tuple(given.rows),
        output=given.output,
        model=given.model,
        device=given.device,
        validation=given.validation,
        held_out=given.held_out,
        recipe=Recipe(**{name: getattr(given, name) for name in asdict(recipe)}),
    )


def main() -> None:
    """Train; what is wrong with the rows or the weights is said in one sentence."""
    try:
        train(parse())
    except (UnreadableRows, CannotTrain, WrongWeights) as error:
        raise SystemExit(f"train_coarse: {error}") from error


if __name__ == "__main__":
    main()
