"""From a preset to the container that serves it."""

from services.speech.presets import VLLM_WHISPER, WEIGHTS, Preset, vllm_share

_CARD = {"docker": ("--gpus", "all"), "podman": ("--device", "nvidia.com/gpu=all")}


def serve_command(preset: Preset, share: float | None = None) -> list[str]:
    """What its container runs; empty: what the image does. `share` of the card is vLLM's to be told."""
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
