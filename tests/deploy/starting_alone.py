"""Run as a script: starts an app that may import its image's code and locked packages, and nothing else.

`python -I -S starting_alone.py CODE SITE_PACKAGES NAME,NAME… MODULE (started | imported | tool)`
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


def plain(name: str) -> str:
    """A distribution's name as a lock writes it."""
    return name.lower().replace("_", "-").replace(".", "-")


class OnlyTheLocked(MetaPathFinder):
    """Hides every installed package that the image does not install."""

    def __init__(self, allowed: set[str]) -> None:
        from importlib.metadata import packages_distributions

        installed = packages_distributions().items()
        self._hidden = {top for top, names in installed if not {plain(name) for name in names} & allowed}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self._hidden:
            raise ModuleNotFoundError(f"{fullname} is not in this image", name=fullname)
        return None


def start(module: str) -> None:
    """The app's engine is opened and closed again, by settings from the environment."""
    import anyio

    app: Any = importlib.import_module(f"{module}.app")
    settings = importlib.import_module(f"{module}.settings")
    own = [each for each in vars(settings).values() if getattr(each, "__module__", "") == settings.__name__]
    (kind,) = [each for each in own if each.__name__.endswith("Settings")]
    created = app.create_app(kind())

    async def main() -> None:
        async with created.router.lifespan_context(created):
            pass

    anyio.run(main)


def run(code: Path, packages: str, allowed: str, module: str, how: str) -> None:
    """What the command line asks for."""
    sys.path[:0] = [str(code), packages]
    sys.meta_path.insert(0, OnlyTheLocked({*allowed.split(","), "loreglass"}))
    if how == "started":
        start(module)
    elif how == "imported":
        importlib.import_module(f"{module}.app")
    else:
        is_package = (code / module.replace(".", "/")).is_dir()
        importlib.import_module(f"{module}.__main__" if is_package else module)


if __name__ == "__main__":
    run(Path(sys.argv[1]), *sys.argv[2:])
