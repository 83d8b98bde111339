"""The libraries that training needs, and progress bars on stderr."""

import importlib
import importlib.util
from collections.abc import Iterable, Sized
from typing import TypeVar

from training.config import WrongConfig
from training.torchvision_ops import make_importable

NEEDED = ("torch", "torchvision", "transformers", "peft", "accelerate", "datasets", "trl")


def require(*names: str) -> None:
    """Raises `WrongConfig` where one of them is not installed."""
    missing = [name for name in names or NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise WrongConfig(
            f"Training needs {', '.join(missing)}: pip install 'loreglass[training]', "
            "or `make .venv/.training` in a clone."
        )
    make_importable()


Item = TypeVar("Item")


def bar(items: Iterable[Item], what: str, total: int | None = None, hidden: bool = False) -> Iterable[Item]:
    """The same items, shown as they go by, unless `hidden`."""
    from tqdm import tqdm

    length = total if total is not None or not isinstance(items, Sized) else len(items)
    shown: Iterable[Item] = tqdm(
        items, desc=what, total=length, disable=hidden, dynamic_ncols=True, leave=False
    )
    return shown
