"""Export a fitted reader as the folder that the cross-encoder's engines load."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from training.onnx_export import OPEN, write_model
from training.reader.clauses import ClauseRow, ReadingModel, fit_clauses
from training.reader.model import CrossEncoder, load_run, mean_weights, tokenizer


def mean_of_runs(run: Path, base: Path, after: Path | None = None, keep: float = 0.0) -> CrossEncoder:
    """Return the model of a run.

    `keep`: share of the weights of the run that came before, `after` (Wortsman et al., 2022, WiSE-FT).
    """
    model = load_run(run, base)
    if after is not None:
        model.load_state_dict(mean_weights(model, load_run(after, base), keep))
    return model


def write_reader(
    model: CrossEncoder, base: Path, out: Path, clauses: Sequence[ClauseRow], card: Mapping[str, object]
) -> None:
    """Write a model with the tokenizer of its base, and with a head for clauses that is fitted to it here.

    `card`: "name", and "max_tokens" of a window.
    """
    tokens = tokenizer(base, int(str(card["max_tokens"])))
    whole = ReadingModel(model, fit_clauses(model, clauses, tokens))
    outputs = {"spans": OPEN, "answers": {0: "windows"}, "clauses": OPEN}
    write_model(whole, outputs, base, out, card, ("ids", "types", "mask", "marks"))
