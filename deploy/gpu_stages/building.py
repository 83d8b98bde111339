"""Models of random weights, made where they will run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from chassis.accelerator import Accelerator


def built(model_class: Any, config: Any, accelerator: Accelerator, dtype: str = "") -> Any:
    """A `model_class` of transformers on the accelerator, ready to infer, in its or another number type."""
    with _default_dtype(getattr(torch, dtype or accelerator.dtype)), torch.device(accelerator.device):
        return model_class(config).eval()


@contextmanager
def _default_dtype(dtype: Any) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
