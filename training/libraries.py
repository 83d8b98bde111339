"""The libraries that training needs."""

import importlib
import importlib.util

from training.config import WrongConfig
from training.torchvision_ops import make_importable

NEEDED = ("torch", "torchvision", "transformers", "peft", "accelerate", "datasets", "trl")


def require(*names: str) -> None:
    """Raise `WrongConfig` if one of them is not installed."""
    missing = [name for name in names or NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise WrongConfig(
            f"Training needs {', '.join(missing)}: pip install 'loreglass[training]', "
            "or `make .venv/.training` in a clone."
        )
    make_importable()
