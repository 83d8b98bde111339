"""Export a BERT for onnxruntime: matrices as int8 (symmetric, a scale for each output or token).

Activations stay float32: quantising them too costs answers. A sentence encoder is exported by
`python -m training.onnx_export BASE OUT`.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import onnx
import torch
import typer
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from torch import Tensor, nn

from training.torchvision_ops import make_importable

CARD = "model.json"
OPSET = 17
OPEN = {0: "windows", 1: "tokens"}
"""Axes of any size."""
_SMALL = 4_096
"""Numbers: tensors below this stay float32."""


def export(
    model: nn.Module, inputs: Sequence[str], outputs: Mapping[str, Mapping[int, str]], file: Path
) -> None:
    """Write the model in float32, for any number of windows of any length. `outputs`: their open axes."""
    torch.onnx.export(
        model,
        tuple(torch.ones(2, 8, dtype=torch.int64) for _ in inputs),
        file,
        input_names=list(inputs),
        output_names=list(outputs),
        dynamic_axes={name: OPEN for name in inputs} | dict(outputs),
        opset_version=OPSET,
        dynamo=False,
    )


def quantise(source: Path, target: Path) -> None:
    """Store each large matrix as int8 with a scale a column (of a table of tokens: a row)."""
    model = onnx.load(source)
    graph = model.graph
    looked_up = {node.input[0] for node in graph.node if node.op_type == "Gather"}
    tensors, made_nodes = [], []
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.ndim != 2 or values.size < _SMALL:
            tensors.append(tensor)
            continue
        axis = 0 if tensor.name in looked_up else 1
        whole, scale = round_to_int8(values, axis)
        parts = {"int8": whole, "scale": scale, "zero": np.zeros(scale.shape, np.int8)}
        names = [f"{tensor.name}.{part}" for part in parts]
        tensors += [
            numpy_helper.from_array(part, name) for part, name in zip(parts.values(), names, strict=True)
        ]
        made_nodes.append(helper.make_node("DequantizeLinear", names, [tensor.name], axis=axis))
    del graph.initializer[:]
    graph.initializer.extend(tensors)
    nodes = [*made_nodes, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(model)
    onnx.save(model, target)


def round_to_int8(values: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return int8 values, and the scale of each row (`axis` 0) or column (1)."""
    scale = np.abs(values).max(axis=1 - axis, keepdims=True) / 127
    scale = np.where(scale == 0, 1, scale).astype(np.float32)
    return np.rint(values / scale).astype(np.int8), scale.reshape(-1)


def write_model(
    model: nn.Module,
    outputs: Mapping[str, Mapping[int, str]],
    base: Path,
    out: Path,
    card: Mapping[str, object],
    inputs: Sequence[str] = ("ids", "types", "mask"),
) -> None:
    """Write `model.onnx`, `tokenizer.json` and `model.json`, which is `card` with the hashes of both."""
    out.mkdir(parents=True, exist_ok=True)
    whole = out / "float32.onnx"
    export(model, inputs, outputs, whole)
    quantise(whole, out / "model.onnx")
    whole.unlink()
    shutil.copyfile(base / "tokenizer.json", out / "tokenizer.json")
    files = ("model.onnx", "tokenizer.json")
    digests = {each: hashlib.sha256((out / each).read_bytes()).hexdigest() for each in files}
    (out / CARD).write_text(json.dumps({**card, "sha256": digests}, indent=2) + "\n", "utf-8")


class SentenceEncoder(nn.Module):  # type: ignore[misc]
    """The mean of the tokens' vectors of a BERT: [batch, size]."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        make_importable()
        from transformers import AutoModel

        self.encoder = AutoModel.from_pretrained(base, add_pooling_layer=False, attn_implementation="sdpa")

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """Take ids, types and mask [batch, tokens]."""
        hidden = self.encoder(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        weights = mask[..., None].to(hidden.dtype)
        return (hidden * weights).sum(1) / weights.sum(1)


def main(
    base: Annotated[Path, typer.Argument(exists=True, help="folder of all-MiniLM-L6-v2")],
    out: Annotated[Path, typer.Argument(help="folder to write")],
    name: str = "all-MiniLM-L6-v2",
    max_tokens: Annotated[int, typer.Option(help="longer texts are cut")] = 256,
) -> None:
    """Write `model.onnx`, `tokenizer.json` and `model.json`, which holds their hashes."""
    card = {"name": name, "max_tokens": max_tokens}
    write_model(SentenceEncoder(base).eval(), {"vectors": {0: "windows"}}, base, out, card)


if __name__ == "__main__":
    typer.run(main)
