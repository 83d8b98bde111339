"""`loreglass doctor --repair`: the indexes of a platform that does not run, put in order."""

from pathlib import Path

from rich.console import Console

from chassis.errors import LoreglassError
from chassis.http.serving import from_environment
from chassis.vectors.edge import EdgeStore
from clients.showing import plain
from deploy.settings import PocketSettings

SEARCHES = ("image_search", "text_search")


def repair(data_dir: Path, console: Console) -> bool:
    """Set broken versions aside, lead readers to whole ones and write that down. Nothing is deleted.

    Whether all was well or could be put right.
    """
    well = True
    for folder in (data_dir / name for name in SEARCHES):
        if not (folder / "collections").is_dir():
            console.print(plain(f"{folder.name}: nothing is indexed in {folder}."))
            continue
        try:
            lines = _repaired(folder)
        except (LoreglassError, OSError) as error:
            detail = error.detail if isinstance(error, LoreglassError) else error.strerror
            lines, well = [f"cannot be repaired: {detail}. Stop what uses it, or make room, first."], False
        for line in lines:
            console.print(plain(f"{folder.name}: {line}"))
    return well


def _repaired(folder: Path) -> list[str]:
    store = EdgeStore(folder)
    try:
        notes = store.notes()
        store.repair()
        held = store.collections()
    finally:
        store.close()
    seen = [f"{alias} -> {each.name}, {each.points:,} points" for each in held for alias in each.aliases]
    left = [f"{each.name} is not published" for each in held if not each.aliases]
    return [*notes, *seen, *left, "every version that is left is whole"]


def main(data_dir: Path | None = None) -> bool:
    """Repair and print. Raises `CannotStart` for settings that will not do."""
    chosen = {"data_dir": data_dir} if data_dir else {}
    return repair(from_environment(PocketSettings, **chosen).data_dir, Console(soft_wrap=True))
