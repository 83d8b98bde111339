"""Presets for serving models: another model is another entry.

Memory is computed for a 48 GB L40S; the rest of the card belongs to the other engines.
"""

import math
from dataclasses import dataclass, replace

CARD_GB = 48.0
ACTIVATIONS_GB = 2.5
USUAL_CONTEXT = 8_192
"""Tokens: each sequence is given room for half of them at least; few prompts are longer, and wait."""
_PHOTO_MARK = 2  # where a photo has layers of its own, a mark in the prompt stands for it


@dataclass(frozen=True, slots=True)
class Preset:
    """One way to serve one model. `context` and `photo_tokens` in tokens; `photo_gb`: keys and values that a
    photo takes beside those of the text. `sequences` at once, `most_sequences` where memory allows.

    What its speed follows from: `decode_weights_gb`, read for each token written; `prefill_gflop`, computed
    for each token read, in fp8 where `fp8` is set; `vision_tflop`, computed for a photo, always in bf16.

    `flags` are vLLM's own and hold for the version in `image` only. The README has each preset's limits and
    the sources of its figures.
    """

    name: str
    model: str
    image: str
    context: int
    sequences: int
    weights_gb: float
    kv_bytes_per_token: int
    photo_tokens: int
    photo_gb: float
    decode_weights_gb: float
    prefill_gflop: float
    vision_tflop: float
    most_sequences: int
    prefix_caching: bool
    flags: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    fp8: bool = False
    activations_gb: float = ACTIVATIONS_GB

    @property
    def resident_gb(self) -> float:
        """The memory before the first sequence: weights and activations."""
        return self.weights_gb + self.activations_gb

    def sequence_gb(self, tokens: float) -> float:
        """Keys and values of one sequence of `tokens` with its photo."""
        return tokens * self.kv_bytes_per_token / 1e9 + self.photo_gb

    @property
    def photo_in_prompt(self) -> bool:
        """True if a photo's tokens are among those of the text, false if in layers of their own (Mllama)."""
        return self.photo_gb == 0

    @property
    def prompt_photo_tokens(self) -> int:
        """Of the context, that a photo takes."""
        return self.photo_tokens if self.photo_in_prompt else _PHOTO_MARK

    @property
    def memory_gb(self) -> float:
        """Weights, activations, and keys and values: all sequences half as long as usual, or a whole one."""
        usual = min(self.context, USUAL_CONTEXT)
        cached = max(self.sequences * self.sequence_gb(usual / 2), self.sequence_gb(self.context))
        return self.resident_gb + cached

    @property
    def memory_share(self) -> float:
        """Of an L40S, rounded up to a hundredth."""
        return math.ceil(self.memory_gb / CARD_GB * 100) / 100


# A grammar that allows any white space lets a model fill its token limit with it.
_COMPACT_JSON = ("--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}')
# Photos arrive inside the request. A name under .invalid is nobody's (RFC 2606), so nothing is ever fetched.
_NO_FETCHING = ("--allowed-media-domains", "photos-travel-inside-requests.invalid")
_NO_REDIRECTS = ("VLLM_MEDIA_URL_ALLOW_REDIRECTS", "0")
_NO_TELEMETRY = ("VLLM_NO_USAGE_STATS", "1")

LLAMA = Preset(
    name="llama-3.2-11b-vision",
    model="meta-llama/Llama-3.2-11B-Vision-Instruct",
    image="docker.io/vllm/vllm-openai:v0.10.2",
    context=16_384,
    sequences=8,
    weights_gb=21.3,
    kv_bytes_per_token=131_072,
    photo_tokens=6404,
    photo_gb=0.21,
    decode_weights_gb=18.5,
    prefill_gflop=18.5,
    vision_tflop=25.0,
    most_sequences=16,
    prefix_caching=False,
    activations_gb=3.4,
    flags=(
        "--limit-mm-per-prompt",
        '{"image": 1}',
        "--enforce-eager",
    ),
    environment=(_NO_TELEMETRY,),
)

LLAMA_FP8 = replace(
    LLAMA,
    name="llama-3.2-11b-vision-fp8",
    model="RedHatAI/Llama-3.2-11B-Vision-Instruct-FP8-dynamic",
    weights_gb=12.6,
    decode_weights_gb=9.8,
    fp8=True,
)


def qwen_flags(max_pixels: int, *more: str) -> tuple[str, ...]:
    """The flags for a Qwen model whose photos are scaled to so many pixels."""
    return (
        "--limit-mm-per-prompt",
        '{"image": 1, "video": 0}',
        "--mm-processor-kwargs",
        f'{{"max_pixels": {max_pixels}}}',
        "--enable-prefix-caching",
        *more,
        *_NO_FETCHING,
    )


QWEN25 = Preset(
    name="qwen2.5-vl-7b",
    model="Qwen/Qwen2.5-VL-7B-Instruct",
    image="docker.io/vllm/vllm-openai:v0.32.0",
    context=32_768,
    sequences=8,
    weights_gb=16.6,
    kv_bytes_per_token=57_344,
    photo_tokens=1280,
    photo_gb=0.0,
    decode_weights_gb=14.1,
    prefill_gflop=14.1,
    vision_tflop=6.9,
    most_sequences=32,
    prefix_caching=True,
    flags=qwen_flags(1_003_520, *_COMPACT_JSON),
    environment=(_NO_TELEMETRY, _NO_REDIRECTS),
)

QWEN25_FP8 = replace(
    QWEN25,
    name="qwen2.5-vl-7b-fp8",
    model="RedHatAI/Qwen2.5-VL-7B-Instruct-FP8-Dynamic",
    weights_gb=10.2,
    decode_weights_gb=7.6,
    fp8=True,
)

QWEN25_3B = replace(
    QWEN25,
    name="qwen2.5-vl-3b",
    model="Qwen/Qwen2.5-VL-3B-Instruct",
    weights_gb=7.5,
    kv_bytes_per_token=36_864,
    decode_weights_gb=6.2,
    prefill_gflop=6.2,
)

QWEN3 = replace(
    QWEN25,
    name="qwen3-vl-8b",
    model="Qwen/Qwen3-VL-8B-Instruct",
    weights_gb=17.5,
    kv_bytes_per_token=147_456,
    decode_weights_gb=15.1,
    prefill_gflop=15.1,
    vision_tflop=5.7,
    flags=qwen_flags(1_310_720, *_COMPACT_JSON),
)

PRESETS: dict[str, Preset] = {
    preset.name: preset for preset in (LLAMA, LLAMA_FP8, QWEN25, QWEN25_FP8, QWEN25_3B, QWEN3)
}
DEFAULT = LLAMA.name
TRAINED_FOR = "loreglass-preset.json"
"""Beside weights that were trained here: which preset serves them."""

# Models that see photo and text together and write nothing: one embeds them, one ranks texts. They are for
# text_search and the reranker with `engine=remote` and `remote_shape=vllm`.

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
