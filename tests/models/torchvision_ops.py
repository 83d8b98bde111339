"""torchvision beside a torch without CUDA, for this process: see the module that does it.

Tests only: a GPU image has matching wheels.
"""

import importlib


def make_importable() -> None:
    """Make `import torchvision` work from here on; without effect where it does already."""
    importlib.import_module("tests.vllm.site.sitecustomize")
