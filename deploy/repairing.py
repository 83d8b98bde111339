"""`loreglass doctor --repair`: the indexes of a platform that does not run, put in order."""

from pathlib import Path

from rich.console import Console

from chassis.errors import LoreglassError
from chassis.http.serving import from_environment
from chassis.resilience.room import MIB, Room
from chassis.vectors.edge import EdgeStore
from clients.showing import plain
from deploy.settings import PocketSettings
from services.image_search.settings import ImageSearchSettings
from services.text_search.settings import TextSearchSettings

SEARCHES: dict[str, type[ImageSearchSettings | TextSearchSettings]] = {
    "image_search": ImageSearchSettings,
    "text_search": TextSearchSettings,
}


def repair(data_dir: Path, console: Console) -> bool:
    """Set broken versions aside, let readers see whole ones and write that down. Nothing is deleted.

    Whether all was well or could be put right.
    """
    well = True
    for name, settings in SEARCHES.items():
        folder = data_dir / name
        if not (folder / "collections").is_dir():
            console.print(plain(f"{folder.name}: nothing is indexed in {folder}."))
            continue
        try:
            room = Room(folder, from_environment(settings).disk_reserve_mib * MIB)
            lines, whole = _repaired(folder, room)
            well = well and whole
        except (LoreglassError, OSError) as error:
            detail = error.detail if isinstance(error, LoreglassError) else error.strerror
            lines, well = [f"cannot be repaired: {detail}. Stop what uses it, or make room, first."], False
        for line in lines:
            console.print(plain(f"{folder.name}: {line}"))
    return well


def _repaired(folder: Path, room: Room) -> tuple[list[str], bool]:
    """What there is to say, and whether every version that is left could be opened."""
    store = EdgeStore(folder, room)
    try:
        held = store.collections()
        store.repair()
        notes, unopened = store.notes(), store.unopened()
    finally:
        store.close()
    seen = [f"{alias} -> {each.name}, {each.points:,} points" for each in held for alias in each.aliases]
    left = [f"{each.name} is not published" for each in held if not each.aliases]
    said = (
        f"not known to be whole: {', '.join(unopened)}" if unopened else "every version that is left is whole"
    )
    return [*notes, *seen, *left, said], not unopened


def main(data_dir: Path | None = None) -> bool:
    """Repair and print. Raises `CannotStart` for settings that will not do."""
    chosen = {"data_dir": data_dir} if data_dir else {}
    return repair(from_environment(PocketSettings, **chosen).data_dir, Console(soft_wrap=True))
