"""Folders as people have them: every file is either to be read or named with the reason why not."""

import os
import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from chassis.vectors.port import Origin

_PHOTO_NUMBER = re.compile(r"(?:[-_](?:\d|0\d+)|\s?\(\d{1,3}\))$")
_SHORTEST_NAME = 2
_LETTERS = re.compile(r"[^\W\d_]+")
_CAMERA_WORDS = frozenset(
    """
    am at bild bildschirmfoto burst cimg collage copy cover dji download dsc dscf dscn e edit edited effects
    fb foto gopr hdr image img kakaotalk messenger mg mp mv mvimg night of photo pic picture pm portrait pxl
    received scan screenshot signal snapchat telegram unnamed untitled wa whatsapp
    """.split()  # noqa: SIM905 - prose is easier to keep than a list of strings
)
"""Words that cameras, phones and programs put into names of files."""
_MADE_UP = re.compile(
    r"[a-z]{1,8}[-_]?\d{6,}|(?=.*\d)[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}", re.IGNORECASE
)
"""A name made of a number, or of the digest of a file."""
_EDITED = re.compile(
    r"\.(?:mp|portrait|night|hdr|cover)$"
    r"|[-_ ]+\(?(?:copy|kopie|copie|copia|edited|edit)\)?(?:[ _-]\d{1,3}|\s?\(\d{1,3}\))?$",
    re.IGNORECASE,
)
"""The end of a name that programs give to other versions of a photo."""
_SAVED_PARTS = re.compile(
    r"[-_.](?:files?|filer|dateien|fichiers|archivos|ficheiros|arquivos|bestanden|pliki|soubory|dosyalar)$",
    re.IGNORECASE,
)
"""Suffixes of the folder in which a browser stores the pictures, styles and frames of a saved page."""
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml")


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of a folder. `name`: relative to it, fit to be shown. `fault`: why not to read it, if so.

    `origin`: its address as a document. `shares_url`: another file claims the URL that it claims.
    """

    path: Path
    name: str
    fault: str = ""
    origin: Origin | None = None
    shares_url: bool = False


def files_in(folder: Path) -> Iterator[FolderFile]:
    """All files below `folder`, in order, without hidden ones and those in hidden folders.

    Nothing outside of the folder is to be read through it: a link may lead to a file inside only, and links
    to folders are not followed. A folder that cannot be listed is returned as a file with a fault, and so is
    one that a browser saved beside a page.
    """
    faults: list[FolderFile] = []

    def note(error: OSError) -> None:
        path = Path(error.filename)
        faults.append(_faulty(folder, path, f"The folder cannot be read ({error.strerror})."))

    inside = folder.resolve()
    for place, folders, files in os.walk(folder, onerror=note):
        linked = [name for name in folders if Path(place, name).is_symlink()]
        saved = _folders_of_saved_pages(folders, files)
        for name, page in saved.items():
            faults.append(_faulty(folder, Path(place, name), f"It belongs to the saved page {page}."))
        skipped = {*linked, *saved}
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in skipped)
        for name in sorted([*files, *linked]):
            if not name.startswith("."):
                yield _folder_file(folder, Path(place, name), inside)
    yield from faults


def _folders_of_saved_pages(folders: Sequence[str], files: Sequence[str]) -> dict[str, str]:
    """Return the folders that belong to a page beside them, and the page's name."""
    pages = {Path(name).stem: name for name in files if name.lower().endswith(_PAGE_SUFFIXES)}
    owners = {name: pages.get(_SAVED_PARTS.sub("", name)) for name in folders if _SAVED_PARTS.search(name)}
    return {name: page for name, page in owners.items() if page}


def file_in(folder: Path, path: Path) -> FolderFile:
    """One file of the folder, by the same rules."""
    return _folder_file(folder, path, folder.resolve())


def thing_in(photo: PurePosixPath) -> str:
    """Return the thing that a photo's name states; empty if none. `photo` is relative to its folder.

    A number after a hyphen or an underscore, or in brackets, tells photos of one thing apart:
    `eiffel_tower-2.png` and `Eiffel Tower (3).jpg` show the Eiffel Tower, `apollo-11.jpg` shows Apollo 11: a
    number of several digits is part of a name, unless it begins with 0.
    Underscores stand for spaces, and so do hyphens where there is neither space nor capital; a name without
    capitals gets them. What a camera called a photo (`IMG_0001.jpg`, `20240501.jpg`) names nothing: there
    the folder that the photo is in names it.
    """
    return _thing_of(photo.stem) or _thing_of(photo.parent.name)


def has_number(photo: PurePosixPath) -> bool:
    """Return whether the photo's name ends with a number that is not taken for a part of the thing's name."""
    return bool(_PHOTO_NUMBER.search(photo.stem)) and bool(_thing_of(photo.stem))


def _thing_of(stem: str) -> str:
    whole = _EDITED.sub("", unicodedata.normalize("NFC", stem).strip())
    bare = _PHOTO_NUMBER.sub("", whole)
    if len(bare) < _SHORTEST_NAME:
        bare = whole  # U-2
    if _MADE_UP.fullmatch(whole) or _CAMERA_WORDS.issuperset(_LETTERS.findall(bare.casefold())):
        return ""
    spaced = bare.replace("_", " ")
    is_lower = spaced == spaced.lower()
    if is_lower and " " not in spaced:
        spaced = spaced.replace("-", " ")
    return string.capwords(spaced) if is_lower else " ".join(spaced.split())


def _folder_file(folder: Path, path: Path, inside: Path) -> FolderFile:
    if any(unicodedata.category(each) in ("Cc", "Cs") for each in path.relative_to(folder).as_posix()):
        return _faulty(folder, path, "Its name holds control characters or is not Unicode; rename it.")
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return _faulty(folder, path, "It is a link that leads nowhere.")
    if path.is_symlink():
        if not resolved.is_relative_to(inside):
            return _faulty(folder, path, "It is a link that leads out of the folder.")
        if resolved.is_dir():
            return _faulty(folder, path, "It is a link to a folder, which is not followed.")
    return FolderFile(path, _printable(folder, path))


def _faulty(folder: Path, path: Path, fault: str) -> FolderFile:
    return FolderFile(path, _printable(folder, path), fault)


def _printable(folder: Path, path: Path) -> str:
    """The name with what cannot be printed escaped: a terminal must not obey a file's name."""
    name = path.relative_to(folder).as_posix()
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in name
    )
