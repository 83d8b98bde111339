"""Lets torchvision be imported beside a CPU build of torch.

The registry's torchvision carries CUDA kernels: beside a torch without CUDA its operators are not there to be
found, and its import stops at the first one. Declaring them is enough: nothing of ours calls them. Where the
builds match (CUDA, or the CPU index of PyTorch) nothing is declared. This file needs no other of the project,
so that it can also be put before a process of somebody else's.
"""

import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_KEPT: list[Any] = []


class _DeclareOperatorsFirst(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "torchvision" and not _KEPT and _mismatched():
            import torch

            library = torch.library.Library("torchvision", "DEF")
            for operator in ("nms", "qnms"):
                library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _KEPT.append(library)  # its declarations end with it
        return None


def make_importable() -> None:
    """Make `import torchvision` work from here on, in this process; without effect where it does already."""
    if not any(isinstance(finder, _DeclareOperatorsFirst) for finder in sys.meta_path):
        sys.meta_path.insert(0, _DeclareOperatorsFirst())


def _mismatched() -> bool:
    try:
        build = importlib.metadata.version("torchvision")
    except importlib.metadata.PackageNotFoundError:
        return False
    import torch

    return torch.version.cuda is None and "+cpu" not in build
