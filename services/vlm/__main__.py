"""`python -m services.vlm PRESET`: print the command that serves a preset with vLLM, and become it."""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence

from services.vlm.launch import Placement, command, container_command, printable, table
from services.vlm.presets import DEFAULT, PRESETS


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was asked for; everything after `--` belongs to vLLM."""
    parser = argparse.ArgumentParser(prog="python -m services.vlm", description=__doc__)
    parser.add_argument("preset", nargs="?", choices=sorted(PRESETS), default=DEFAULT)
    parser.add_argument("--model", default="", metavar="FOLDER", help="weights: a local folder or a hub id")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--memory-share", type=_share, help="of the card; the preset's is for an L40S")
    parser.add_argument("--print", action="store_true", dest="only_print", help="do not run it")
    parser.add_argument(
        "--container", metavar="ENGINE", choices=["docker", "podman"], help="in its own image"
    )
    parser.add_argument("--list", action="store_true", help="all presets, with what they need")
    parser.add_argument("--explain", action="store_true", help="the preset's limits and sources")
    ours, theirs = _split(words)
    parsed = parser.parse_args(ours)
    parsed.extra = theirs
    return parsed


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return list(words), []
    at = list(words).index("--")
    return list(words[:at]), list(words[at + 1 :])


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError("a share is more than 0 and at most 1")
    return share


def main(words: Sequence[str]) -> None:
    """Print; then, unless only asked to print, become vLLM."""
    asked = arguments(words)
    if asked.list:
        sys.stdout.write(table(list(PRESETS.values())) + "\n")
        return
    preset = PRESETS[asked.preset]
    if asked.explain:
        notes = [*(f"limit: {limit}" for limit in preset.limits), *(f"source: {s}" for s in preset.sources)]
        sys.stdout.write("\n".join([f"{preset.name}: {preset.model} on {preset.image}", *notes]) + "\n")
        return
    placement = Placement(asked.host, asked.port, asked.model, asked.memory_share, tuple(asked.extra))
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
