"""From a preset to the command that serves it."""

from dataclasses import dataclass, replace

from services.vlm.presets import Preset

_CONTAINER_WEIGHTS = "/weights"
_CONTAINER_CACHE = "/root/.cache/huggingface"
_ALL_CARDS = {"docker": ("--gpus", "all"), "podman": ("--device", "nvidia.com/gpu=all")}
_ONE_CARD = {"docker": ("--gpus", "device={}"), "podman": ("--device", "nvidia.com/gpu={}")}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and how a preset runs here. `weights`: a local folder or another hub id in place of the model.

    `memory_share` of the card, `context` (tokens) and `sequences` replace the preset's; `gpu`: the only card
    that vLLM sees. `extra` goes to vLLM as it is, last, so that it wins.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    weights: str = ""
    memory_share: float | None = None
    extra: tuple[str, ...] = ()
    context: int | None = None
    sequences: int | None = None
    gpu: int | None = None


def serve_arguments(preset: Preset, placement: Placement) -> list[str]:
    """The arguments of `vllm serve`. The key is not among them: vLLM reads VLLM_API_KEY."""
    share = preset.memory_share if placement.memory_share is None else placement.memory_share
    return [
        placement.weights or preset.model,
        "--served-model-name",
        preset.name,
        "--host",
        placement.host,
        "--port",
        str(placement.port),
        "--dtype",
        "bfloat16",
        "--max-model-len",
        str(placement.context or preset.context),
        "--max-num-seqs",
        str(placement.sequences or preset.sequences),
        "--gpu-memory-utilization",
        f"{share:g}",
        *preset.flags,
        *placement.extra,
    ]


def command(preset: Preset, placement: Placement) -> list[str]:
    """Return the command for a machine with vLLM."""
    cards = [] if placement.gpu is None else [f"CUDA_VISIBLE_DEVICES={placement.gpu}"]
    variables = [f"{name}={value}" for name, value in preset.environment]
    return ["env", *cards, *variables, "vllm", "serve", *serve_arguments(preset, placement)]


def container_command(preset: Preset, placement: Placement, engine: str = "docker") -> list[str]:
    """Return the command for a container engine. The port is published to `placement.host` only."""
    weights = placement.weights if placement.weights.startswith("/") else ""
    inside = replace(
        placement,
        host="0.0.0.0",  # of the container, whose port is published below
        weights=_CONTAINER_WEIGHTS if weights else placement.weights,
    )
    cards = _ALL_CARDS[engine] if placement.gpu is None else _ONE_CARD[engine]
    mount = f"{weights}:{_CONTAINER_WEIGHTS}:ro" if weights else f"huggingface:{_CONTAINER_CACHE}"
    variables = [part for name, value in preset.environment for part in ("-e", f"{name}={value}")]
    return [
        engine,
        "run",
        "--rm",
        *(word.format(placement.gpu) for word in cards),
        "--ipc=host",
        "-p",
        f"{placement.host}:{placement.port}:{placement.port}",
        "-v",
        mount,
        *variables,
        "-e",
        "VLLM_API_KEY",
        "--entrypoint",
        "vllm",
        preset.image,
        "serve",
        *serve_arguments(preset, inside),
    ]
