"""`transformers serve` in a process of its own: `python -m tests.models.transformers_serve FOLDER PORT`.

torchvision is hidden from it: the registry's wheel does not import beside a torch without CUDA, and the
server does as well with Pillow.
"""

import importlib.util
import sys
from importlib.machinery import ModuleSpec

_find_spec = importlib.util.find_spec


def _without_torchvision(name: str, package: str | None = None) -> ModuleSpec | None:
    return None if name.partition(".")[0] == "torchvision" else _find_spec(name, package)


def main() -> None:
    """Serve until ended."""
    importlib.util.find_spec = _without_torchvision
    from transformers.cli.transformers import main as transformers

    folder, port = sys.argv[1:]
    sys.argv = ["transformers", "serve", folder, "--port", port, "--device", "cpu", "--dtype", "float32"]
    transformers()


if __name__ == "__main__":
    main()
