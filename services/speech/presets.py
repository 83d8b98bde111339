"""What is known about servers that hear and speak: a preset is data, so that another server is another entry.

Nothing here was measured by us: `sources` says whose each figure is, [g] marks a guess.
"""

import math
from dataclasses import dataclass, replace

CARD_GB = 48.0
HEARS, SPEAKS = "stt", "tts"
"""Roles, as the gateway's settings name them: `LOREGLASS_GATEWAY_STT_*`, `LOREGLASS_GATEWAY_TTS_*`."""
WEIGHTS = "/weights"
"""Where the volume that the weights job fills is in every container."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One way to serve speech. `hears`: the model that a request to /v1/audio/transcriptions names; `speaks`:
    the one to /v1/audio/speech, with one of its voices. Empty: it has no such thing.

    `command` replaces the image's entrypoint and arguments; empty: the image's own. `user`: whom its files
    allow. `repository` and `file`: the weights to fetch; empty where the image holds them. `server_gb`: what
    it takes of a card beside `weights_gb`, in 10^9 bytes; both are 0 where it runs on processors. `seconds`:
    from a spoken question to its words, or from a sentence to its first sound. `metrics`: whether Prometheus
    can ask it at /metrics. `exec_tmp`: it loads libraries from /tmp. `licence`: of the server and the model;
    `limits`: what a user will run into.
    """

    name: str
    image: str
    port: int
    user: str
    languages: str
    licence: str
    seconds: float
    hears: str = ""
    speaks: str = ""
    voice: str = ""
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    repository: str = ""
    file: str = ""
    weights_gb: float = 0.0
    server_gb: float = 0.0
    metrics: bool = False
    exec_tmp: bool = False
    limits: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def on_card(self) -> bool:
        """Whether it computes on a GPU."""
        return self.weights_gb > 0

    @property
    def memory_gb(self) -> float:
        """Of the card, without CUDA's own context."""
        return self.weights_gb + self.server_gb

    @property
    def roles(self) -> tuple[str, ...]:
        """Which of `stt` and `tts` it can be."""
        return tuple(role for role, model in ((HEARS, self.hears), (SPEAKS, self.speaks)) if model)

    def settings(self, role: str, address: str) -> dict[str, str]:
        """The gateway's settings for it in a role. Raises `ValueError` if it cannot be that."""
        if role not in self.roles:
            raise ValueError(f"{self.name} cannot be {role}")
        prefix = f"LOREGLASS_GATEWAY_{role.upper()}"
        model = self.hears if role == HEARS else self.speaks
        voice = {f"{prefix}_VOICE": self.voice} if role == SPEAKS else {}
        return {f"{prefix}_URL": address, f"{prefix}_MODEL": model, **voice}


_TURBO_GB = 1.62  # 809 M parameters in 16 bits
_KOKORO_GB = 0.33  # 82 M in 32 bits
_OPEN = (
    "No key: whoever reaches its port is served. Keep it in a network that reaches nothing but the gateway."
)
_SILENCE = "Whisper hears sentences in silence (`Thank you.`): what has no voice in it is better not sent."

WHISPER_CPP = Preset(
    name="whisper.cpp",
    image="ghcr.io/ggml-org/whisper.cpp:main-927cfce34f31707e17f2bff35c349632fb9e2c3a",
    port=8080,
    user="10001:10001",
    languages="English",
    licence="MIT; model MIT",
    seconds=1.5,
    hears="base.en",
    command=(
        "/app/build/bin/whisper-server",
        "--host",
        "0.0.0.0",
        "--port",
        "8080",
        "--inference-path",
        "/v1/audio/transcriptions",
        "--no-timestamps",
        "--suppress-nst",
        "--model",
        "/app/models/ggml-base.en.bin",
        "--language",
        "en",
    ),
    limits=(
        "One question after the other: the server holds a lock while it computes.",
        "WAV, MP3 and FLAC only, without `--convert`; the gateway sends WAV.",
        "POST /load opens any file of its container as a model, and ends the server if it is none.",
        _OPEN,
        _SILENCE,
    ),
    sources=(
        "image: whisper.cpp 1.9.4, its commit: releases have no tag (.github/workflows/docker.yml)",
        "flags, lock, formats, /health and /load: examples/server of that repository",
        "the model in the image: its Dockerfile runs `make base.en`, which downloads it",
        "1.5 s: four threads of a current processor [g]",
    ),
)

WHISPER_CPP_CUDA = replace(
    WHISPER_CPP,
    name="whisper.cpp-cuda",
    image="ghcr.io/ggml-org/whisper.cpp:main-cuda-927cfce34f31707e17f2bff35c349632fb9e2c3a",
    languages="99, found by listening",
    seconds=0.25,
    hears="large-v3-turbo",
    command=(
        *WHISPER_CPP.command[:-4],
        "--model",
        f"{WEIGHTS}/whisper.cpp/ggml-large-v3-turbo.bin",
        "--language",
        "auto",
    ),
    repository="ggerganov/whisper.cpp",
    file="ggml-large-v3-turbo.bin",
    weights_gb=_TURBO_GB,
    server_gb=0.9,
    limits=(
        "It is built for CUDA 13: a driver from 580 on, or CUDA's compatibility package (in its image).",
        *WHISPER_CPP.limits,
    ),
    sources=(
        "weights: 809 M parameters in 16 bits (card of openai/whisper-large-v3-turbo); the file has 1.62 GB",
        "beside them: whisper.cpp's README has 3.9 GB for the large model, whose file has 3.1",
        "0.25 s: 0.21 s with faster-whisper on an RTX 4090 for 2 to 10 s of speech "
        "(github.com/Allob/voice-chat-experiments, 2026-02), times 1,008 / 864 GB/s: derived, not measured",
        *WHISPER_CPP.sources[:2],
    ),
)

VLLM_WHISPER = Preset(
    name="vllm-whisper",
    image="localhost/vllm-openai-audio:v0.32.0",
    port=8000,
    user="10001:10001",
    languages="57, found by listening",
    licence="Apache-2.0; model MIT",
    seconds=0.15,
    hears="whisper-large-v3-turbo",
    command=(
        "vllm",
        "serve",
        f"{WEIGHTS}/whisper-large-v3-turbo",
        "--served-model-name",
        "whisper-large-v3-turbo",
        "--host",
        "0.0.0.0",
        "--port",
        "8000",
        "--dtype",
        "bfloat16",
        "--max-model-len",
        "448",
        "--max-num-seqs",
        "16",
        "--allowed-media-domains",
        "photos-travel-inside-requests.invalid",
    ),
    environment=(
        ("HF_HUB_OFFLINE", "1"),
        ("HOME", "/tmp"),
        ("USER", "loreglass"),  # whom its libraries ask for by name
        ("VLLM_MEDIA_URL_ALLOW_REDIRECTS", "0"),
        ("VLLM_NO_USAGE_STATS", "1"),
    ),
    exec_tmp=True,
    repository="openai/whisper-large-v3-turbo",
    file="model.safetensors",
    weights_gb=_TURBO_GB,
    server_gb=2.2,
    metrics=True,
    limits=(
        "Its documents ask for audio decoders on top of its own image: `printf 'FROM docker.io/vllm/"
        "vllm-openai:v0.32.0\\nRUN uv pip install --system vllm[audio]==0.32.0\\n' | docker build -t "
        "localhost/vllm-openai-audio:v0.32.0 -`. Without any it answers 400 to every sound.",
        "It measures the card's free memory while it starts, as the other vLLM does: one after the other.",
        "A key (VLLM_API_KEY) guards /v1 only; /health and /metrics stay open.",
        _SILENCE,
    ),
    sources=(
        "audio decoders: vLLM's page of the Transcriptions API; its 0.32.0 wheel asks for torchcodec, which "
        "wants ffmpeg's libraries, and has soundfile and PyAV as the extra `audio`",
        "languages: model_executor/models/whisper_utils.py of 0.32.0; flags: exercised by tests/vllm",
        "weights: 809 M parameters in bf16 (model card)",
        "beside them: 40 MB of keys and values for each of 16 (4 layers, 1,500 frames, 448 tokens), and "
        "1.5 GB for activations and graphs [g]",
        "0.15 s: 0.09 s with transformers on an RTX 4090 (the same), and a server in front of it [g]",
    ),
)

KOKORO = Preset(
    name="kokoro",
    image="ghcr.io/remsky/kokoro-fastapi-cpu:v0.9.0",
    port=8880,
    user="1001:1001",
    languages="English, Spanish, French, Hindi, Italian, Japanese, Brazilian Portuguese, Mandarin",
    licence="Apache-2.0; model Apache-2.0",
    seconds=1.0,
    speaks="kokoro",
    voice="af_heart",
    environment=(
        ("API_LOG_LEVEL", "WARNING"),  # DEBUG, its default, would log what is spoken
        ("CORS_ENABLED", "false"),
        ("DOWNLOAD_MODEL", "false"),
        ("ENABLE_SSML", "false"),
        ("ENABLE_VOICE_TAGS", "false"),
        ("ENABLE_WEB_PLAYER", "false"),
        ("HF_HUB_OFFLINE", "1"),
        ("HOME", "/tmp"),
        ("MAX_INPUT_LENGTH", "5000"),
        ("TEMP_FILE_DIR", "/tmp/speech"),
    ),
    exec_tmp=True,
    limits=(
        "It loads a copy of espeak-ng's library from /tmp (phonemizer), which must therefore allow that.",
        "The image holds espeak-ng (GPL-3.0), which reads words that its dictionary lacks.",
        _OPEN,
    ),
    sources=(
        "model and voices in the image, port, user and settings: its README, CHANGELOG and configuration.md",
        "1 s: first sound on a current processor (README: under 1 s on an M3 Pro, 3.5 s on an old i7)",
    ),
)

KOKORO_CUDA = replace(
    KOKORO,
    name="kokoro-cuda",
    image="ghcr.io/remsky/kokoro-fastapi-gpu:v0.9.0",
    seconds=0.3,
    weights_gb=_KOKORO_GB,
    server_gb=1.3,
    sources=(
        "weights: 82 M parameters in 32 bits (model card of hexgrad/Kokoro-82M)",
        "beside them: 1.6 GB in all after long texts on an RTX 4060 Ti (its CHANGELOG, 0.5.0)",
        "0.3 s: first sound on a GPU (README)",
        KOKORO.sources[0],
    ),
)

PRESETS: dict[str, Preset] = {
    preset.name: preset for preset in (WHISPER_CPP, WHISPER_CPP_CUDA, VLLM_WHISPER, KOKORO, KOKORO_CUDA)
}


def vllm_share(preset: Preset) -> float:
    """`--gpu-memory-utilization`: its part of a card, rounded up to a thousandth."""
    return math.ceil(round(preset.memory_gb / CARD_GB * 1000, 6)) / 1000
