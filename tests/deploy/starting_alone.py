"""Run as a script: starts an app that may import its image's code and packages, and nothing else.

`python -I -S starting_alone.py CODE SITE_PACKAGES HIDDEN,HIDDEN… MODULE (started | imported | tool)`
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


class NotInTheImage(MetaPathFinder):
    """Hides every installed package that the image does not install."""

    def __init__(self, hidden: set[str]) -> None:
        self._hidden = hidden

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


def run(code: Path, packages: str, hidden: str, module: str, how: str) -> None:
    """What the command line asks for."""
    sys.path[:0] = [str(code), packages]
    sys.meta_path.insert(0, NotInTheImage(set(hidden.split(","))))
    if how == "started":
        start(module)
    elif how == "imported":
        importlib.import_module(f"{module}.app")
    else:
        is_package = (code / module.replace(".", "/")).is_dir()
        importlib.import_module(f"{module}.__main__" if is_package else module)


if __name__ == "__main__":
    run(Path(sys.argv[1]), *sys.argv[2:])
