"""Fine-tune the BLIP-2 domain router: `python -m services.domain_router.train ROWS... --output HEAD`.

ROWS are files (or folders) of rows in CRAG-MM's schema, see `tuning/rows.py`. By default only the linear head
learns, on features that are computed once; `--unfreeze qformer` tunes the Q-Former with it. Writes HEAD
(safetensors) and a report beside it (the same name with .json). Trains in float32; seeded.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from chassis.accelerator import Placement, open_accelerator
from chassis.models.pretrained import WrongWeights
from chassis.models.qformer import DEFAULT_MODEL, QFormer
from chassis.models.witness import witness
from chassis.training_rows import UnreadableRows
from contracts.domain_router import Domain
from services.domain_router.engines.domain_head import DomainHead
from services.domain_router.tuning.encoders import Encoder, FrozenEncoder, QFormerEncoder
from services.domain_router.tuning.fitting import Epoch, Fit, Recipe, fit, logits_of
from services.domain_router.tuning.measures import Labels, Measures, best_temperature, measure
from services.domain_router.tuning.reporting import Report, measure_lines, reading_lines
from services.domain_router.tuning.rows import Example, Reading, read_rows
from services.domain_router.tuning.splitting import Shares, Split, stratified

_LABELS = tuple(domain.value for domain in Domain)


class CannotTrain(Exception):
    """The rows do not allow it; the message says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """`test`: rows to be held out instead of a share of `rows`. `unfreeze`: none or qformer."""

    rows: tuple[Path, ...]
    output: Path
    test: tuple[Path, ...] = ()
    model: str = DEFAULT_MODEL
    unfreeze: str = "none"
    device: str = "auto"
    shares: Shares = field(default_factory=Shares)
    recipe: Recipe = field(default_factory=Recipe)


def train(run: Run) -> Report:
    """Read, split, fit, calibrate, measure, and write checkpoint and report.

    Raises `UnreadableRows`, `CannotTrain` and `WrongWeights`.
    """
    if not run.output.parent.is_dir():
        raise CannotTrain(f"There is no folder {run.output.parent} for the checkpoint.")
    reading, split = _read(run)
    _say(reading_lines(reading))
    examples = reading.examples
    accelerator = open_accelerator(Placement(run.device, "float32"))
    qformer = QFormer.from_pretrained(run.model, accelerator)
    encoder = _encoder(run, qformer, examples)
    labels = np.array([example.domain for example in examples], np.int64)
    fitted = fit(encoder, labels, len(_LABELS), split, run.recipe, _watch)
    report = _calibrated(run, reading, split, encoder, labels, fitted)
    head = DomainHead(
        weight=fitted.weight,
        bias=fitted.bias,
        temperature=report.temperature,
        labels=_LABELS,
        base_model=run.model,
        witness=witness(qformer),
        tuned=fitted.tuned,
    )
    head.save(run.output)
    run.output.with_suffix(".json").write_text(json.dumps(report.as_json(), indent=1) + "\n", "utf-8")
    _say([f"best epoch {fitted.best.number} of {len(fitted.epochs)}, temperature {report.temperature:.2f}"])
    _say(measure_lines("held out" if report.held_out else "validation", report.held_out or report.validation))
    return report


def _read(run: Run) -> tuple[Reading, Split]:
    """Rows of the test sources go to the held-out part, whatever sessions they are of."""
    own = read_rows(run.rows)
    shares = replace(run.shares, held_out=0.0) if run.test else run.shares
    split = stratified(own.examples, shares, run.recipe.seed)
    if run.test:
        test = read_rows(run.test)
        known = {example.session for example in own.examples}
        if known & {example.session for example in test.examples}:
            raise CannotTrain("Some sessions are among the rows to train on and among those to test on.")
        start = len(own.examples)
        own = Reading((*own.examples, *test.examples), (*own.malformed, *test.malformed))
        split = replace(split, held_out=tuple(range(start, len(own.examples))))
    if not split.training or not split.validation:
        raise CannotTrain(
            f"{len(own.examples)} questions are too few: some domain needs three sessions, so that it can be"
            " trained on and validated."
        )
    return own, split


def _encoder(run: Run, qformer: QFormer, examples: Sequence[Example]) -> Encoder:
    if run.unfreeze == "qformer":
        return QFormerEncoder(qformer, examples)
    return FrozenEncoder(qformer, examples, run.recipe.batch_size)


def _calibrated(
    run: Run, reading: Reading, split: Split, encoder: Encoder, labels: Labels, fitted: Fit
) -> Report:
    """With the temperature of the validation part, and measured with it."""
    size = run.recipe.batch_size
    logits = logits_of(encoder, fitted, split.validation, size)
    temperature = best_temperature(logits, labels[list(split.validation)])
    held_out: Measures | None = None
    if split.held_out:
        unseen = logits_of(encoder, fitted, split.held_out, size) / temperature
        held_out = measure(unseen, labels[list(split.held_out)], _LABELS)
    return Report(
        base_model=run.model,
        unfrozen=run.unfreeze,
        recipe=run.recipe,
        reading=reading,
        split=split,
        fitted=fitted,
        temperature=temperature,
        validation=measure(logits / temperature, labels[list(split.validation)], _LABELS),
        held_out=held_out,
    )


def _watch(epoch: Epoch) -> None:
    _say(
        [
            f"epoch {epoch.number:3d}: loss {epoch.loss:.4f}, validation macro-F1 {epoch.macro_f1:.3f},"
            f" log loss {epoch.log_loss:.3f}"
        ]
    )


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201


def parse(arguments: Sequence[str] | None = None) -> Run:
    """The command line's `Run`."""
    recipe, shares = Recipe(), Shares()
    parser = argparse.ArgumentParser(prog="python -m services.domain_router.train", description=__doc__)
    parser.add_argument("rows", nargs="+", type=Path, help="JSONL or Parquet files, or folders of them")
    parser.add_argument("--output", type=Path, required=True, help="the checkpoint, a .safetensors file")
    parser.add_argument(
        "--test", nargs="+", type=Path, default=[], help="rows to hold out instead of a share"
    )
    parser.add_argument("--model", default=DEFAULT_MODEL, help="local folder or hub id (%(default)s)")
    parser.add_argument("--unfreeze", choices=["none", "qformer"], default="none")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--validation", type=float, default=shares.validation, help="share (%(default)s)")
    parser.add_argument("--held-out", type=float, default=shares.held_out, help="share (%(default)s)")
    parser.add_argument("--epochs", type=int, default=recipe.epochs)
    parser.add_argument("--patience", type=int, default=recipe.patience)
    parser.add_argument("--batch-size", type=int, default=recipe.batch_size)
    parser.add_argument("--learning-rate", type=float, default=recipe.learning_rate, help="of the head")
    parser.add_argument("--tuned-rate", type=float, default=recipe.tuned_rate, help="of the Q-Former")
    parser.add_argument("--weight-decay", type=float, default=recipe.weight_decay)
    parser.add_argument("--seed", type=int, default=recipe.seed)
    given = parser.parse_args(arguments)
    if given.output.suffix != ".safetensors":
        parser.error("--output must end in .safetensors")
    if not (given.validation > 0 and given.held_out >= 0 and given.validation + given.held_out < 1):
        parser.error("--validation must be above 0, --held-out at least 0, and both together below 1")
    if min(given.epochs, given.patience, given.batch_size) < 1:
        parser.error("--epochs, --patience and --batch-size must be at least 1")
    return Run(
        rows=tuple(given.rows),
        output=given.output,
        test=tuple(given.test),
        model=given.model,
        unfreeze=given.unfreeze,
        device=given.device,
        shares=Shares(given.validation, given.held_out),
        recipe=Recipe(
            epochs=given.epochs,
            patience=given.patience,
            batch_size=given.batch_size,
            learning_rate=given.learning_rate,
            tuned_rate=given.tuned_rate,
            weight_decay=given.weight_decay,
            seed=given.seed,
        ),
    )


def main() -> None:
    """Train; what is wrong with the rows or the weights is said in one sentence."""
    try:
        train(parse())
    except (UnreadableRows, CannotTrain, WrongWeights) as error:
        raise SystemExit(f"train: {error}") from error


if __name__ == "__main__":
    main()
