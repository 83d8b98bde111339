"""The tiny models are of the real architectures: they load by the library's own ways, look, and write."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from training.tiny.models import tiny_mllama, tiny_qwen3_vl, tiny_qwen25_vl


@pytest.mark.parametrize("build", [tiny_mllama, tiny_qwen25_vl, tiny_qwen3_vl])
def test_a_tiny_model_writes_about_a_photo(build: Callable[[Path], Path], tmp_path: Path) -> None:
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = build(tmp_path)
    processor = AutoProcessor.from_pretrained(folder)
    model = AutoModelForImageTextToText.from_pretrained(folder)
    message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}
    text = processor.apply_chat_template([message], add_generation_prompt=True)
    logits = [
        model(**processor(images=[Image.new("RGB", (80, 60), colour)], text=[text], return_tensors="pt"))
        .logits[0, -1]
        .detach()
        for colour in ("red", "blue")
    ]
    assert logits[0].shape[0] >= 500
    assert bool((logits[0] != logits[1]).any())
