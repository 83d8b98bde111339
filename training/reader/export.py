"""Export a fitted reader as the folder that the cross-encoder's engines load."""

from pathlib import Path

from training.onnx_export import OPEN, write_model
from training.reader.clauses import ClauseHead, ReadingModel
from training.reader.model import CrossEncoder, load_run, mean_weights


def mean_of_runs(run: Path, base: Path, after: Path | None = None, keep: float = 0.0) -> CrossEncoder:
    """Return the model of a run.

    `keep`: share of the weights of the run that came before, `after` (Wortsman et al., 2022, WiSE-FT).
    """
    model = load_run(run, base)
    if after is not None:
        model.load_state_dict(mean_weights(model, load_run(after, base), keep))
    return model


def write_reader(
    model: CrossEncoder, head: ClauseHead, base: Path, out: Path, name: str, tokens: int
) -> None:
    """Write a model with the tokenizer of its base. `tokens`: of a window."""
    outputs = {"spans": OPEN, "answers": {0: "windows"}, "clauses": OPEN}
    card = {"name": name, "max_tokens": tokens}
    write_model(ReadingModel(model, head), outputs, base, out, card, ("ids", "types", "mask", "marks"))
