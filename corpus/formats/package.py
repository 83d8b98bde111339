"""Files that are ZIP archives of XML: their sizes are checked before anything is unpacked."""

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from urllib.parse import unquote

from lxml import etree
from lxml.etree import _Element

from corpus.pages import NoContent
from corpus.values import moment
from corpus.visible import clean_line

_MOST_FILES = 20_000
_MOST_BYTES = 512 * 2**20
"""The most bytes of all files unpacked. A file with more than it declares fails while it is read."""
_MOST_PART_BYTES = 96 * 2**20
RAISED = {"superscript": "sup", "subscript": "sub"}
"""The values of `vertAlign` in Office files, as HTML tags."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0"


class Package:
    """The files of an archive, by name."""

    def __init__(self, content: bytes) -> None:
        """Raises `NoContent`."""
        if content.startswith(_OLE):
            raise NoContent(
                "The file is encrypted. Save it without a password."
                if _ENCRYPTED in content
                else "The file has an older format than its name says. Save it in the current one."
            )
        try:
            self._archive = zipfile.ZipFile(BytesIO(content))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise NoContent("The file is damaged, or its name has the wrong suffix.") from error
        files = self._archive.infolist()
        if len(files) > _MOST_FILES or sum(each.file_size for each in files) > _MOST_BYTES:
            raise NoContent("The file is too large when it is unpacked.")
        self._files = {each.filename: each for each in files}

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises `NoContent`."""
        file = self._files.get(name)
        if file is None:
            raise NoContent("A part of the file is missing.")
        if file.flag_bits & 1:
            raise NoContent("The file is encrypted. Save it without a password.")
        if file.file_size > _MOST_PART_BYTES:
            raise NoContent("The file is too large when it is unpacked.")
        try:
            return self._archive.read(file)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
            raise NoContent("The file is damaged.") from error

    def xml(self, name: str) -> _Element:
        """Return the root of an XML file; its entities are not resolved. Raises `NoContent`."""
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
        )
        try:
            return etree.fromstring(self.read(name), parser)
        except etree.XMLSyntaxError as error:
            if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
                raise MemoryError from error
            raise NoContent("The file is damaged.") from error

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """Return the targets of an Office file's relationships: id -> (kind, name of the file)."""
        folder, own = posixpath.split(name)
        relations = f"{folder}/_rels/{own}.rels".lstrip("/")
        if relations not in self:
            return {}
        return {
            each.get("Id", ""): (
                each.get("Type", "").rpartition("/")[2],
                resolve(name, each.get("Target", "")),
            )
            for each in self.xml(relations)
            if each.get("TargetMode") != "External"
        }

    def main_part(self, usual: str) -> str:
        """Return the name of an Office file's main part."""
        return next((name for kind, name in self.related("").values() if kind == "officeDocument"), usual)

    def properties(self) -> tuple[str, datetime | None]:
        """Return an Office file's title and the date of its last change."""
        name = next((name for kind, name in self.related("").values() if kind == "core-properties"), "")
        core = self.xml(name) if name in self else None
        texts = {local_name(each): each.text or "" for each in (() if core is None else core)}
        return clean_line(texts.get("title", ""))[:300], moment(texts.get("modified", ""))


def resolve(base: str, target: str) -> str:
    """Return the name of the file that `target` names in the file `base`."""
    path = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path)).lstrip("/")


def local_name(element: _Element) -> str:
    """Return the tag without its namespace: strict and transitional Office files differ in these alone."""
    return str(element.tag).rpartition("}")[2]


def children(element: _Element | None, *names: str) -> Iterator[_Element]:
    """Yield the children with these local names."""
    return (each for each in (() if element is None else element) if local_name(each) in names)


def child(element: _Element | None, *path: str) -> _Element | None:
    """Return the first descendant along a path of local names."""
    for name in path:
        element = next(children(element, name), None)
    return element


def relation_id(element: _Element) -> str:
    """Return the id of the relationship that an element names (`r:id`); empty without one."""
    return next((str(value) for key, value in element.items() if key.endswith("}id")), "")


def attribute(element: _Element | None, name: str) -> str:
    """Return an attribute by its local name; empty without one."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.items() if key.rpartition("}")[2] == name), "")
