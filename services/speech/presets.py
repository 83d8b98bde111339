"""Presets of STT and TTS servers, and their containers.

Nothing here was measured by us: the README says whose each figure is, and what a user will run into.
"""

import math
from dataclasses import dataclass, replace

CARD_GB = 48.0
HEARS, SPEAKS = "stt", "tts"
"""Roles, as the gateway's settings name them: `LOREGLASS_GATEWAY_STT_*`, `LOREGLASS_GATEWAY_TTS_*`."""
WEIGHTS = "/weights"
"""Where the volume that the weights job fills is in every container."""
_CARD = {"docker": ("--gpus", "all"), "podman": ("--device", "nvidia.com/gpu=all")}


@dataclass(frozen=True, slots=True)
class Preset:
    """One way to serve speech. `hears`: the model that a request to /v1/audio/transcriptions names; `speaks`:
    the one to /v1/audio/speech, with one of its voices. It does one of the two.

    `command` replaces the image's entrypoint and arguments; empty: the image's own. `user`: whom its files
    allow. `repository` and `file`: the weights to fetch; empty where the image holds them. `server_gb`: what
    it takes of a card beside `weights_gb`, in 10^9 bytes; both are 0 where it runs on processors. `metrics`:
    whether Prometheus can ask it at /metrics. `exec_tmp`: it loads libraries from /tmp.
    """

    name: str
    image: str
    port: int
    user: str
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

    @property
    def on_card(self) -> bool:
        """True if it computes on a GPU."""
        return self.weights_gb > 0

    @property
    def memory_gb(self) -> float:
        """Of the card, without CUDA's own context."""
        return self.weights_gb + self.server_gb

    @property
    def role(self) -> str:
        """`stt` or `tts`."""
        return HEARS if self.hears else SPEAKS

    def settings(self, address: str) -> dict[str, str]:
        """Return the gateway's settings for it at this address."""
        prefix = f"LOREGLASS_GATEWAY_{self.role.upper()}"
        voice = {f"{prefix}_VOICE": self.voice} if self.speaks else {}
        return {f"{prefix}_URL": address, f"{prefix}_MODEL": self.hears or self.speaks, **voice}


_TURBO_GB = 1.62  # 809 M parameters in 16 bits
_KOKORO_GB = 0.33  # 82 M in 32 bits

WHISPER_CPP = Preset(
    name="whisper.cpp",
    image="ghcr.io/ggml-org/whisper.cpp:main-927cfce34f31707e17f2bff35c349632fb9e2c3a",
    port=8080,
    user="10001:10001",
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
)

WHISPER_CPP_CUDA = replace(
    WHISPER_CPP,
    name="whisper.cpp-cuda",
    image="ghcr.io/ggml-org/whisper.cpp:main-cuda-927cfce34f31707e17f2bff35c349632fb9e2c3a",
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
)

VLLM_WHISPER = Preset(
    name="vllm-whisper",
    image="localhost/vllm-openai-audio:v0.32.0",
    port=8000,
    user="10001:10001",
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
)

KOKORO = Preset(
    name="kokoro",
    image="ghcr.io/remsky/kokoro-fastapi-cpu:v0.9.0",
    port=8880,
    user="1001:1001",
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
)

KOKORO_CUDA = replace(
    KOKORO,
    name="kokoro-cuda",
    image="ghcr.io/remsky/kokoro-fastapi-gpu:v0.9.0",
    weights_gb=_KOKORO_GB,
    server_gb=1.3,
)

PRESETS: dict[str, Preset] = {
    preset.name: preset for preset in (WHISPER_CPP, WHISPER_CPP_CUDA, VLLM_WHISPER, KOKORO, KOKORO_CUDA)
}


def vllm_share(preset: Preset) -> float:
    """`--gpu-memory-utilization`: its part of a card, rounded up to a thousandth."""
    return math.ceil(round(preset.memory_gb / CARD_GB * 1000, 6)) / 1000


def serve_command(preset: Preset, share: float | None = None) -> list[str]:
    """Return its container's command; empty: the image's own. `share`: of the card, for vLLM."""
    words = list(preset.command)
    if preset.name == VLLM_WHISPER.name:
        words += ["--gpu-memory-utilization", f"{vllm_share(preset) if share is None else share:g}"]
    return words


def container_command(preset: Preset, engine: str, weights: str, host: str, port: int) -> list[str]:
    """One line that serves it, published to `host` and `port` only. `weights`: a folder or a volume."""
    command = serve_command(preset)
    return [
        engine,
        "run",
        "--rm",
        "--read-only",
        "--tmpfs",
        "/tmp:mode=1777" + (",exec" if preset.exec_tmp else ""),
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--user",
        preset.user,
        *(_CARD[engine] if preset.on_card else ()),
        "-p",
        f"{host}:{port}:{preset.port}",
        *(("-v", f"{weights}:{WEIGHTS}:ro") if preset.repository else ()),
        *(("--shm-size", "2g") if preset.name == VLLM_WHISPER.name else ()),
        *(word for name, value in preset.environment for word in ("-e", f"{name}={value}")),
        *(("--entrypoint", command[0]) if command else ()),
        preset.image,
        *command[1:],
    ]
