"""The exported sentence encoder gives the vectors of the model that it was made from."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from chassis.models import sentence_encoder as served
from tests.models.tiny_bge import tiny_bge
from training import onnx_export
from training import sentence_encoder as exported

MAX_TOKENS = 32


@pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
def test_int8_weights_keep_the_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_export, "_SMALL", 16)  # the model is so small that nothing would be quantised
    base, out = tiny_bge(tmp_path / "base"), tmp_path / "out"
    exported.main(base, out, "tiny", MAX_TOKENS)
    texts = ["the tower is tall", "harbour", "the tower of the harbour is tall " * 20]
    model, tokenizer = exported.SentenceEncoder(base).eval(), Tokenizer.from_file(str(out / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    for text, vector in zip(texts, served.SentenceEncoder(out).queries(texts), strict=True):
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.inference_mode():
            whole = model(ids, torch.zeros_like(ids), torch.ones_like(ids))[0].numpy()
        assert vector @ (whole / np.linalg.norm(whole)) == pytest.approx(1, abs=1e-2)
        assert not np.array_equal(vector, whole / np.linalg.norm(whole))
