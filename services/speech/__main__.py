"""`python -m services.speech PRESET`: print the line that serves a preset in a container, and become it."""

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Sequence

from services.speech.presets import PRESETS, container_command


def main(words: Sequence[str]) -> None:
    """Print; then, unless only asked to print, become the container engine."""
    parser = argparse.ArgumentParser(prog="python -m services.speech", description=__doc__)
    parser.add_argument("preset", choices=sorted(PRESETS))
    parser.add_argument("--container", metavar="ENGINE", choices=["docker", "podman"], default="docker")
    parser.add_argument(
        "--weights", default="weights", help="a folder's whole path, or a volume (%(default)s)"
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, help="the preset's unless told otherwise")
    parser.add_argument("--print", action="store_true", dest="only_print", help="do not run it")
    options = parser.parse_args(words)
    preset = PRESETS[options.preset]
    port = options.port or preset.port
    line = container_command(preset, options.container, options.weights, options.host, port)
    settings = preset.settings(f"http://{options.host}:{port}")
    comments = [f"# {name}={value}" for name, value in settings.items()]
    sys.stdout.write("\n".join([*comments, shlex.join(line)]) + "\n")
    sys.stdout.flush()
    if options.only_print:
        return
    if shutil.which(line[0]) is None:
        sys.exit(f"{line[0]} is not installed here.")
    os.execvp(line[0], line)


if __name__ == "__main__":
    main(sys.argv[1:])
