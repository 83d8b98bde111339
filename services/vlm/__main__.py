"""`python -m services.vlm PRESET`: print the command that serves a preset with vLLM, and become it."""

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from services.vlm.launch import Placement, command, container_command
from services.vlm.presets import DEFAULT, PRESETS, SERVED, TRAINED_FOR
from services.vlm.settings import ServeSettings, serve_settings


def arguments(words: Sequence[str], environment: ServeSettings | None = None) -> argparse.Namespace:
    """Return the command line's options, else the environment's; everything after `--` is for vLLM."""
    environment = environment or ServeSettings.model_construct()
    parser = argparse.ArgumentParser(prog="python -m services.vlm", description=__doc__)
    parser.add_argument("preset", nargs="?", choices=sorted(SERVED))
    parser.add_argument("--model", default="", metavar="FOLDER", help="weights: a local folder or a hub id")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--memory-share", type=float, help="of the card; the preset's is for an L40S")
    parser.add_argument("--max-model-len", type=int, metavar="TOKENS", help="in place of the preset's")
    parser.add_argument("--max-num-seqs", type=int, metavar="N", help="in place of the preset's")
    parser.add_argument("--gpu", type=int, metavar="N", help="the only card that vLLM sees")
    parser.add_argument("--print", action="store_true", dest="only_print", help="do not run it")
    parser.add_argument(
        "--container", metavar="ENGINE", choices=["docker", "podman"], help="in its own image"
    )
    end = list(words).index("--") if "--" in words else len(words)
    parsed = parser.parse_args(words[:end])
    parsed.extra = tuple(words[end + 1 :])
    parsed.preset = parsed.preset or _trained_for(parsed.model) or environment.preset or DEFAULT
    sizes = environment.sized_for(parsed.preset)
    for name in ("memory_share", "max_model_len", "max_num_seqs", "gpu"):
        if getattr(parsed, name) is None:
            setattr(parsed, name, getattr(sizes, name))
    return parsed


def _trained_for(folder: str) -> str:
    """The preset of a folder that `loreglass train merge` wrote; "" for any other. Raises `ValueError`."""
    file = Path(folder, TRAINED_FOR)
    if not folder or not file.is_file():
        return ""
    try:
        name = json.loads(file.read_text("utf-8"))["preset"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} does not say which preset serves these weights.") from error
    if name not in PRESETS:
        raise ValueError(f"{file} names no preset: {name}.")
    return str(name)


def main(words: Sequence[str]) -> None:
    """Print; then, unless only asked to print, become vLLM."""
    try:
        options = arguments(words, serve_settings())
    except ValueError as error:
        sys.exit(str(error))
    preset = SERVED[options.preset]
    placement = Placement(
        options.host,
        options.port,
        options.model,
        options.memory_share,
        options.extra,
        options.max_model_len,
        options.max_num_seqs,
        options.gpu,
    )
    if options.container:
        program, line = options.container, container_command(preset, placement, options.container)
    else:
        program, line = "vllm", command(preset, placement)
    sys.stdout.write(shlex.join(line) + "\n")
    sys.stdout.flush()
    if options.only_print:
        return
    if shutil.which(program) is None:
        sys.exit(f"{program} is not installed here; --container docker or podman runs vLLM's own image.")
    os.execvp(line[0], line)


if __name__ == "__main__":
    main(sys.argv[1:])
