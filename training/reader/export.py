"""Export a fitted reader as the folder that the cross-encoder's engines load."""

from pathlib import Path

from training.onnx_export import OPEN, write_model
from training.reader.model import load_run


def write_reader(run: Path, base: Path, out: Path, name: str, max_tokens: int) -> None:
    """Write the model of a run, with the tokenizer of its base."""
    outputs = {"spans": OPEN, "answers": {0: "windows"}}
    write_model(load_run(run, base), outputs, base, out, {"name": name, "max_tokens": max_tokens})
