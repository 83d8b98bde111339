"""EPUB: the chapters of a book in the order of its spine."""

from collections.abc import Iterator

from lxml.etree import _Element

from corpus.formats.html import parse_html
from corpus.formats.package import Package, attribute, child, children, local_name, resolve
from corpus.formats.tables import mark_evident_names
from corpus.formats.text import decode_page
from corpus.inline import spell_out
from corpus.pages import Block, NoContent, Page
from corpus.values import moment
from corpus.visible import clean_line, visible_blocks

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_CHAPTER_TYPES = frozenset({"application/xhtml+xml", "text/html"})
_MOST_CHAPTERS = 5_000


def read_book(content: bytes) -> Page:
    """Read a book. Raises `NoContent`."""
    package = Package(content)
    opf = attribute(child(package.xml(_CONTAINER), "rootfiles", "rootfile"), "full-path")
    book = package.xml(opf)
    names = [name for name in _chapters(book, opf) if name in package]
    if _ENCRYPTION in package and not _encrypted(package).isdisjoint(names):
        raise NoContent("The book is encrypted. Add a copy without DRM.")
    blocks = [block for name in names for block in _chapter(package.read(name))]
    metadata = child(book, "metadata")
    title = child(metadata, "title")
    dates = [each.text for each in children(metadata, "meta") if each.get("property") == "dcterms:modified"]
    name = clean_line(title.text or "")[:300] if title is not None else ""
    return Page("", name, tuple(blocks), moment(dates[0] or "") if dates else None)


def _chapters(book: _Element, opf: str) -> Iterator[str]:
    """Yield the files of the spine, without the table of contents. Raises `NoContent`."""
    items = {attribute(each, "id"): each for each in children(child(book, "manifest"), "item")}
    spine = {attribute(each, "idref"): each for each in children(child(book, "spine"), "itemref")}
    if len(spine) > _MOST_CHAPTERS:
        raise NoContent(f"The book has too many chapters. It may have {_MOST_CHAPTERS:,}.")
    for name in spine:
        item = items.get(name)
        is_contents = "nav" in attribute(item, "properties").split()
        if attribute(item, "media-type") in _CHAPTER_TYPES and not is_contents:
            yield resolve(opf, attribute(item, "href"))


def _chapter(content: bytes) -> Iterator[Block]:
    tree = parse_html(decode_page(content))
    for link in list(tree.iter("a")):
        kinds = {link.get("epub:type", ""), link.get("role", "").removeprefix("doc-")}
        if not kinds.isdisjoint(("noteref", "backlink")):
            link.drop_tree()
    spell_out(tree)
    mark_evident_names(tree)
    return visible_blocks(tree)


def _encrypted(package: Package) -> set[str]:
    """Return the names of encrypted files: often these are fonts alone."""
    return {
        resolve("", attribute(each, "URI"))
        for each in package.xml(_ENCRYPTION).iter()
        if local_name(each) == "CipherReference"
    }
