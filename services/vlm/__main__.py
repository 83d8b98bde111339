"""`python -m services.vlm PRESET`: print the command that serves a preset with vLLM, and become it."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from services.vlm.launch import Placement, command, container_command, printable, table
from services.vlm.presets import DEFAULT, PRESETS, TRAINED_FOR
from services.vlm.settings import ServeSettings, serve_settings


def arguments(words: Sequence[str], given: ServeSettings | None = None) -> argparse.Namespace:
    """What was asked for, else what the environment says; everything after `--` belongs to vLLM."""
    given = given or ServeSettings.model_construct()
    parser = argparse.ArgumentParser(prog="python -m services.vlm", description=__doc__)
    parser.add_argument("preset", nargs="?", choices=sorted(PRESETS))
    parser.add_argument("--model", default="", metavar="FOLDER", help="weights: a local folder or a hub id")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=_port, default=8000)
    parser.add_argument("--memory-share", type=_share, help="of the card; the preset's is for an L40S")
    parser.add_argument("--max-model-len", type=_count, metavar="TOKENS", help="in place of the preset's")
    parser.add_argument("--max-num-seqs", type=_count, metavar="N", help="in place of the preset's")
    parser.add_argument("--gpu", type=_card, metavar="N", help="the only card that vLLM sees")
    parser.add_argument("--print", action="store_true", dest="only_print", help="do not run it")
    parser.add_argument(
        "--container", metavar="ENGINE", choices=["docker", "podman"], help="in its own image"
    )
    parser.add_argument("--list", action="store_true", help="all presets, with what they need")
    parser.add_argument("--explain", action="store_true", help="the preset's limits and sources")
    ours, theirs = _split(words)
    parsed = parser.parse_args(ours)
    parsed.extra = theirs
    parsed.preset = parsed.preset or _trained_for(parsed.model) or given.preset or DEFAULT
    sizes = given.sized_for(parsed.preset)
    for name in ("memory_share", "max_model_len", "max_num_seqs", "gpu"):
        if getattr(parsed, name) is None:
            setattr(parsed, name, getattr(sizes, name))
    return parsed


def _trained_for(folder: str) -> str:
    """The preset of a folder that `loreglass train merge` wrote; "" for any other. Raises `ValueError`."""
    told = Path(folder, TRAINED_FOR)
    if not folder or not told.is_file():
        return ""
    try:
        name = json.loads(told.read_text("utf-8"))["preset"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{told} does not say which preset serves these weights.") from error
    if name not in PRESETS:
        raise ValueError(f"{told} names no preset: {name}.")
    return str(name)


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return list(words), []
    at = list(words).index("--")
    return list(words[:at]), list(words[at + 1 :])


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError("a share is more than 0 and at most 1")
    return share


def _count(text: str) -> int:
    return _whole(text, 1, 2**31 - 1)


def _card(text: str) -> int:
    return _whole(text, 0, 2**31 - 1)


def _port(text: str) -> int:
    return _whole(text, 1, 65_535)


def _whole(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}")
    return int(text)


def main(words: Sequence[str]) -> None:
    """Print; then, unless only asked to print, become vLLM."""
    try:
        asked = arguments(words, serve_settings())
    except ValueError as error:
        sys.exit(str(error))
    if asked.list:
        sys.stdout.write(table(list(PRESETS.values())) + "\n")
        return
    preset = PRESETS[asked.preset]
    if asked.explain:
        notes = [*(f"limit: {limit}" for limit in preset.limits), *(f"source: {s}" for s in preset.sources)]
        sys.stdout.write("\n".join([f"{preset.name}: {preset.model} on {preset.image}", *notes]) + "\n")
        return
    placement = Placement(
        asked.host,
        asked.port,
        asked.model,
        asked.memory_share,
        tuple(asked.extra),
        asked.max_model_len,
        asked.max_num_seqs,
        asked.gpu,
    )
    if asked.container:
        program, line = asked.container, container_command(preset, placement, asked.container)
    else:
        program, line = "vllm", command(preset, placement)
    sys.stdout.write(printable(line) + "\n")
    sys.stdout.flush()
    if not asked.only_print:
        _become(program, line)


def _become(program: str, line: list[str]) -> None:
    if shutil.which(program) is None:
        sys.exit(f"{program} is not installed here; --container docker or podman runs vLLM's own image.")
    os.execvp(line[0], line)


if __name__ == "__main__":
    main(sys.argv[1:])
