"""Models that see photo and text together and write nothing: one embeds them, one ranks texts.

They are for text_search and the reranker with `engine=remote` and `remote_shape=vllm`.
"""

from dataclasses import replace

from services.vlm.presets import PRESETS, QWEN25, Preset, qwen_flags

# The format that Qwen3-VL-Reranker was trained with. A template is stripped of its last line break, hence the
# expression. vLLM takes it as a file or, as here, as it is.
_RERANK_TEMPLATE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the"
    ' Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    "<Instruct>: {{ instruction }}<Query>:{{ messages[0]['content'] }}\n"
    "<Document>:{{ messages[1]['content'] }}<|im_end|>\n<|im_start|>assistant{{ '\\n' }}"
)
_RERANK_OVERRIDES = (
    '{"architectures": ["Qwen3VLForSequenceClassification"], "classifier_from_token": ["no", "yes"], '
    '"is_original_qwen3_reranker": true}'
)


def _retriever(name: str, model: str, flags: tuple[str, ...]) -> Preset:
    return replace(
        QWEN25,
        name=name,
        model=model,
        context=2_048,
        sequences=16,
        weights_gb=4.3,
        kv_bytes_per_token=114_688,
        photo_tokens=448,
        decode_weights_gb=2.8,
        prefill_gflop=2.8,
        vision_tflop=1.1,
        most_sequences=64,
        flags=("--runner", "pooling", *qwen_flags(458_752), *flags),
        activations_gb=1.5,
    )


EMBEDDING = _retriever("qwen3-vl-embedding-2b", "Qwen/Qwen3-VL-Embedding-2B", ())
RERANKER = _retriever(
    "qwen3-vl-reranker-2b",
    "Qwen/Qwen3-VL-Reranker-2B",
    ("--hf-overrides", _RERANK_OVERRIDES, "--chat-template", _RERANK_TEMPLATE),
)
RETRIEVERS: dict[str, Preset] = {preset.name: preset for preset in (EMBEDDING, RERANKER)}
SERVED = PRESETS | RETRIEVERS
"""All presets of `python -m services.vlm`."""
