"""Export a sentence encoder for onnxruntime: `python -m training.sentence_encoder BASE OUT`."""

from pathlib import Path
from typing import Annotated

import typer
from torch import Tensor, nn

from training.onnx_export import write_model
from training.torchvision_ops import make_importable


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
