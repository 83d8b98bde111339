"""Export a fitted reader as the folder that the cross-encoder's engines load."""

from pathlib import Path

from training.onnx_export import OPEN, write_model
from training.reader.model import load_run, mean_weights


def write_reader(
    run: Path, base: Path, out: Path, name: str, max_tokens: int, after: Path | None = None, keep: float = 0.0
) -> None:
    """Write the model of a run, with the tokenizer of its base.

    `keep`: share of the weights of the run that came before, `after` (Wortsman et al., 2022, WiSE-FT).
    """
    outputs = {"spans": OPEN, "answers": {0: "windows"}}
    model = load_run(run, base)
    if after is not None:
        model.load_state_dict(mean_weights(model, load_run(after, base), keep))
    write_model(model, outputs, base, out, {"name": name, "max_tokens": max_tokens})
