"""DOCX: paragraphs, headings, lists, tables, text boxes and notes, read by way of HTML.

The XML is read directly: python-docx leaves out content controls, insertions, text boxes and notes.
"""

import re
from collections.abc import Iterator

from lxml.etree import _Element
from lxml.html import HtmlElement
from lxml.html.builder import E

from corpus.formats.package import RAISED, Package, attribute, child, children, local_name
from corpus.formats.tables import flat, tree_blocks
from corpus.formulas import formula_text
from corpus.inline import append_text
from corpus.pages import NoContent, Page
from corpus.visible import clean_line

_LEFT_OUT = frozenset({"del", "moveFrom", "instrText", "rPr", "pPr", "tblPr", "trPr", "tcPr", "Fallback"})
"""Deleted text, codes of fields, properties, and second copies of drawings."""
_TEXTS = {"tab": " ", "noBreakHyphen": "-", "ptab": " "}
_MOST_BASES = 20
"""Styles that a style may be based on."""
_MOST_COLUMNS = 1_000
_HEADING = re.compile(r"heading (\d)")


def read_word(content: bytes) -> Page:
    """Read a document. Raises `NoContent`."""
    package = Package(content)
    main = package.main_part("word/document.xml")
    body = child(package.xml(main), "body")
    if body is None:
        raise NoContent("The file is no Word document.")
    document = _Document(package, main)
    tree = E.article(*document.blocks(body))
    blocks = tree_blocks(tree)
    title, modified = package.properties()
    headings = (clean_line(each.text_content()) for each in tree.iter("h1", "h2", "h3"))
    return Page("", (document.title or title or next(headings, ""))[:300], tuple(blocks), modified)


class _Document:
    """The styles and notes of a document. `title`: of the first paragraph that has the style for it."""

    def __init__(self, package: Package, main: str) -> None:
        def entries(part: str, name: str, key: str) -> dict[str, _Element]:
            root = package.xml(parts[part]) if part in parts else None
            return {attribute(each, key): each for each in children(root, name)}

        parts = {kind: name for kind, name in package.related(main).values() if name in package}
        self.title = ""
        self._styles = entries("styles", "style", "styleId")
        self._notes = {kind: entries(f"{kind}s", kind, "id") for kind in ("footnote", "endnote")}

    def blocks(self, parent: _Element) -> Iterator[HtmlElement]:
        """Yield paragraphs and tables, also those of content controls and insertions."""
        for element in parent:
            name = local_name(element)
            if name == "p":
                yield from self._paragraph(element)
            elif name == "tbl":
                yield self._table(element)
            elif name not in _LEFT_OUT:
                yield from self.blocks(element)

    def _paragraph(self, element: _Element) -> Iterator[HtmlElement]:
        """Yield the paragraph, then the text boxes and notes that belong to it."""
        paragraph, beside = E.p(), list[HtmlElement]()
        self._fill(paragraph, element, beside)
        properties = child(element, "pPr")
        style = attribute(child(properties, "pStyle"), "val")
        if _name(self._styles.get(style)) == "title":
            self.title = self.title or clean_line(paragraph.text_content())
            paragraph.tag = "h1"
        elif level := self._outline_level(properties, style):
            paragraph.tag = f"h{level}"
        elif attribute(self._property(properties, style, "numPr", "numId"), "val") not in ("", "0"):
            paragraph.tag = "li"
        yield paragraph
        yield from beside

    def _fill(self, target: HtmlElement, element: _Element, beside: list[HtmlElement]) -> None:
        """Write the text inside `element` into `target`, and its text boxes and notes into `beside`."""
        for each in element:
            name = local_name(each)
            if name == "t" or name in _TEXTS:
                append_text(target, each.text or _TEXTS.get(name, ""))
            elif name in ("br", "cr"):
                target.append(E.br())
            elif name in ("footnoteReference", "endnoteReference"):
                note = self._notes[name.removesuffix("Reference")].pop(attribute(each, "id"), None)
                beside += () if note is None else self.blocks(note)
            elif name == "txbxContent":
                beside += self.blocks(each)
            elif name == "oMath":
                append_text(target, formula_text(each))
            elif name == "r":
                self._fill_run(target, each, beside)
            elif name not in _LEFT_OUT:
                self._fill(target, each, beside)

    def _fill_run(self, target: HtmlElement, run: _Element, beside: list[HtmlElement]) -> None:
        properties = child(run, "rPr")
        hidden = child(properties, "vanish")
        if hidden is not None and attribute(hidden, "val") not in ("0", "false", "off"):
            return
        style = attribute(child(properties, "rStyle"), "val")
        raised = RAISED.get(attribute(self._property(properties, style, "vertAlign"), "val"))
        position = attribute(child(properties, "position"), "val")
        if raised is None and _number(position, 0, 99) > 3:  # half points; a lowered text has a sign
            raised = "sup"
        if raised:
            target.append(E(raised))
            target = target[-1]
        self._fill(target, run, beside)

    def _table(self, element: _Element) -> HtmlElement:
        table = E.table()
        open_cells: dict[int, HtmlElement] = {}
        for row in _inside(element, "tr"):
            cell_tag = "th" if child(row, "trPr", "tblHeader") is not None else "td"
            table.append(E.tr())
            column = 0
            for cell in _inside(row, "tc"):
                properties = child(cell, "tcPr")
                width = _number(attribute(child(properties, "gridSpan"), "val"), 1, _MOST_COLUMNS)
                merge = child(properties, "vMerge")
                if merge is not None and attribute(merge, "val") != "restart" and column in open_cells:
                    above = open_cells[column]
                    above.set("rowspan", str(int(above.get("rowspan", "1")) + 1))
                else:
                    open_cells[column] = E(cell_tag, *map(flat, self.blocks(cell)), colspan=str(width))
                    table[-1].append(open_cells[column])
                column += width
        return table

    def _outline_level(self, properties: _Element | None, style: str) -> int:
        """Return the level of a heading from 1 to 6; 0 of other paragraphs."""
        given = attribute(self._property(properties, style, "outlineLvl"), "val")
        if not given and (match := _HEADING.fullmatch(_name(self._styles.get(style)))):
            return min(int(match[1]), 6)
        level = _number(given, 9, 9) if given else 9
        return min(level + 1, 6) if level < 9 else 0

    def _property(self, own: _Element | None, style: str, *path: str) -> _Element | None:
        """Return a property of a paragraph or run, or of the styles that it is based on."""
        value = child(own, *path)
        for _ in range(_MOST_BASES):
            if value is not None or style not in self._styles:
                break
            entry = self._styles[style]
            for kind in ("pPr", "rPr"):
                value = child(entry, kind, *path) if value is None else value
            style = attribute(child(entry, "basedOn"), "val")
        return value


def _inside(parent: _Element, name: str) -> Iterator[_Element]:
    """Yield the rows of a table or the cells of a row, also those of content controls and insertions."""
    for element in parent:
        if local_name(element) == name:
            yield element
        elif local_name(element) not in _LEFT_OUT:
            yield from _inside(element, name)


def _name(style: _Element | None) -> str:
    return attribute(child(style, "name"), "val").casefold()


def _number(text: str, default: int, most: int) -> int:
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 6 else default
