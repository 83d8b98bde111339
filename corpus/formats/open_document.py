"""OpenDocument: texts (ODT), sheets (ODS) and slides (ODP), all of one XML, read by way of HTML."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from lxml.etree import _Element
from lxml.html import HtmlElement
from lxml.html.builder import E

from corpus.formats.package import Package, attribute, child, children, local_name
from corpus.formats.tables import Cells, flat, sheet_blocks, sheet_rows, tree_blocks
from corpus.formulas import formula_text
from corpus.inline import append_text, spell_out
from corpus.pages import Block, NoContent, Page
from corpus.values import moment
from corpus.visible import clean_line

_LEFT_OUT = frozenset(
    {"tracked-changes", "annotation", "hidden-text", "hidden-paragraph", "note-citation", "forms",
     "sequence-decls", "table-of-content", "alphabetical-index", "desc", "title", "notes", "object", "shapes"}
)  # fmt: skip
"""Deleted text, comments, hidden text, marks of notes, indexes of the document's own, and descriptions."""
_HEADING_ROWS = "table-header-rows"
_MOST_REPEATED, _MOST_CELLS = 1_000, 200_000
"""A cell is repeated at most so often, and a document has at most so many cells with text."""
_MOST_BASES = 20
_SKIPPED = ("date-time", "footer", "header", "page-number", "notes")
"""Placeholders of slides that are no content."""


def read_open_text(content: bytes) -> Page:
    """Read a text document. Raises `NoContent`."""
    document = _Document(content)
    tree = E.article(*document.blocks(document.body("text")))
    headings = (clean_line(each.text_content()) for each in tree.iter("h1", "h2", "h3"))
    return document.page(tree_blocks(tree), next(headings, ""))


def read_open_sheets(content: bytes) -> Page:
    """Read the visible sheets of a workbook, as their cells show it. Raises `NoContent`."""
    document = _Document(content)
    sheets = [
        (attribute(table, "name"), document.rows(table))
        for table in children(document.body("spreadsheet"), "table")
        if document.style_value(attribute(table, "style-name"), "table-properties", "display") != "false"
    ]
    return document.page(list(sheet_blocks(sheets, named=len(sheets) > 1)), "")


def read_open_slides(content: bytes) -> Page:
    """Read a presentation. Raises `NoContent`."""
    document = _Document(content)
    blocks: list[Block] = []
    for number, slide in enumerate(children(document.body("presentation"), "page"), 1):
        style = attribute(slide, "style-name")
        if document.style_value(style, "drawing-page-properties", "visibility") != "hidden":
            blocks += (replace(block, page=number) for block in tree_blocks(document.slide(slide)))
    return document.page(blocks, next((block.lines[0] for block in blocks if block.level), ""))


class _Document:
    def __init__(self, content: bytes) -> None:
        """Raises `NoContent`."""
        self._package = Package(content)
        manifest = "META-INF/manifest.xml"
        if manifest in self._package and any(
            local_name(each) == "encryption-data" for each in self._package.xml(manifest).iter()
        ):
            raise NoContent("The file is encrypted. Save it without a password.")
        self._content = self._package.xml("content.xml")
        roots = [self._content, *([self._package.xml("styles.xml")] if "styles.xml" in self._package else [])]
        self._styles = {
            attribute(style, "name"): style
            for root in roots
            for group in children(root, "styles", "automatic-styles")
            for style in children(group, "style")
        }
        self._cells_left = _MOST_CELLS

    def body(self, kind: str) -> _Element:
        """Return the document's content. Raises `NoContent` if it is of another kind."""
        body = child(self._content, "body", kind)
        if body is None:
            raise NoContent("The file is damaged, or its name has the wrong suffix.")
        return body

    def page(self, blocks: list[Block], name: str) -> Page:
        """Return the page, titled by its properties or else by `name`."""
        title, modified = "", None
        if "meta.xml" in self._package:
            meta = child(self._package.xml("meta.xml"), "meta")
            title, modified = _text_of(child(meta, "title")), moment(_text_of(child(meta, "date")))
        return Page("", (title or name)[:300], tuple(blocks), modified)

    def style_value(self, style: str, properties: str, name: str) -> str:
        """Return the value of a property of a style, or of one that it is based on; empty if none has it."""
        for _ in range(_MOST_BASES):
            if style not in self._styles:
                break
            if value := attribute(child(self._styles[style], properties), name):
                return value
            style = attribute(self._styles[style], "parent-style-name")
        return ""

    def blocks(self, parent: Iterable[_Element]) -> Iterator[HtmlElement]:
        """Yield the headings, paragraphs, items and tables inside an element, in order."""
        for element in parent:
            name = local_name(element)
            if name in ("p", "h"):
                yield from self._paragraph(element)
            elif name == "table":
                yield self._table(element)
            elif name == "list":
                yield from self._items(element)
            elif name not in _LEFT_OUT and attribute(element, "display") != "none":
                yield from self.blocks(element)

    def slide(self, page: _Element) -> HtmlElement:
        """Return a slide: its title first, its speaker notes last."""
        tree, titles = E.article(), list[HtmlElement]()
        for shape in page:
            kind = attribute(shape, "class")
            if kind == "title":
                titles += self.blocks(shape)
            elif kind not in _SKIPPED:
                tree.extend(self.blocks([shape]))
        for notes in children(page, "notes"):
            for frame in children(notes, "frame"):
                if attribute(frame, "class") == "notes":
                    tree.extend(self.blocks(frame))
        if titles:
            tree.insert(0, E.h2(" ".join(each.text_content() for each in titles)))
        return tree

    def rows(self, table: _Element) -> list[list[str]]:
        """Return the rows of a sheet, with a cell for each used column. Raises `NoContent`."""
        cells: Cells = {}
        number = 0
        for row in _inside(table, "table-row"):
            texts = self._row(row)
            repeated = _figure(row, "number-rows-repeated")
            for again in range(min(repeated, _MOST_REPEATED) if texts else 0):
                self._take(len(texts))
                cells[number + again + 1] = dict(texts)
            number += repeated
        return sheet_rows(cells)

    def _row(self, row: _Element) -> dict[int, str]:
        texts: dict[int, str] = {}
        column, last, is_title = 1, "", sum(1 for _ in _cells_with_content(row)) == 1
        for cell in children(row, "table-cell", "covered-table-cell"):
            repeated = _figure(cell, "number-columns-repeated")
            if local_name(cell) == "table-cell":
                last = clean_line(" ".join(each.text_content() for each in _spell_out_all(self.blocks(cell))))
                spans = _figure(cell, "number-columns-spanned") > 1
            text = last if local_name(cell) == "table-cell" or (spans and not is_title) else ""
            if text:
                self._take(min(repeated, _MOST_REPEATED))
                texts.update(dict.fromkeys(range(column, column + min(repeated, _MOST_REPEATED)), text))
            column += repeated
        return texts

    def _take(self, cells: int) -> None:
        self._cells_left -= cells
        if self._cells_left < 0:
            raise NoContent(f"The tables are too large. They may have {_MOST_CELLS:,} cells.")

    def _table(self, table: _Element) -> HtmlElement:
        """Return a table of a text or slide."""
        shown = E.table()
        for row in _inside(table, "table-row"):
            tag = "th" if local_name(row.getparent()) == _HEADING_ROWS else "td"
            shown.append(E.tr())
            for cell in children(row, "table-cell"):
                spans = {
                    "colspan": str(_figure(cell, "number-columns-spanned")),
                    "rowspan": str(_figure(cell, "number-rows-spanned")),
                }
                for _ in range(min(_figure(cell, "number-columns-repeated"), _MOST_REPEATED)):
                    self._take(1)
                    shown[-1].append(E(tag, *map(flat, self.blocks(cell)), **spans))
        return shown

    def _items(self, items: _Element) -> Iterator[HtmlElement]:
        """Yield the items of a list and of the lists in it; a heading in it stays one."""
        for item in children(items, "list-item", "list-header"):
            for block in self.blocks(item):
                if block.tag == "p":
                    block.tag = "li"
                yield block

    def _paragraph(self, element: _Element) -> Iterator[HtmlElement]:
        """Yield the paragraph, then the text boxes and notes that belong to it."""
        paragraph, beside = E.p(), list[HtmlElement]()
        self._fill(paragraph, element, beside)
        if local_name(element) == "h":
            paragraph.tag = f"h{min(_figure(element, 'outline-level'), 6)}"
        elif level := self._level(attribute(element, "style-name")):
            paragraph.tag = f"h{level}"
        yield paragraph
        yield from beside

    def _fill(self, target: HtmlElement, element: _Element, beside: list[HtmlElement]) -> None:
        """Write the text inside `element` into `target`, and its text boxes and notes into `beside`."""
        append_text(target, element.text or "")
        for each in element:
            name = local_name(each)
            if name in ("s", "tab"):
                append_text(target, " ")
            elif name == "line-break":
                target.append(E.br())
            elif name == "frame" and (formula := self._formula(each)):
                append_text(target, formula)
            elif name in ("note", "frame", "text-box", "custom-shape"):
                beside += self.blocks(each)
            elif name not in _LEFT_OUT:
                raised = self._position_tag(attribute(each, "style-name")) if name == "span" else ""
                inner = target
                if raised:
                    target.append(E(raised))
                    inner = target[-1]
                self._fill(inner, each, beside)
            append_text(target, each.tail or "")

    def _level(self, style: str) -> int:
        """Return the level of a paragraph whose style is that of a heading or title; 0 of others."""
        for _ in range(_MOST_BASES):
            entry = self._styles.get(style)
            if style == "Title" or attribute(entry, "default-outline-level"):
                return 1 if entry is None else min(_figure(entry, "default-outline-level"), 6)
            style = attribute(entry, "parent-style-name")
        return 0

    def _formula(self, frame: _Element) -> str:
        """Return the formula that the frame shows; empty if it shows something else."""
        part = attribute(child(frame, "object"), "href").strip("./") + "/content.xml"
        root = self._package.xml(part) if part in self._package else None
        return formula_text(root) if root is not None and local_name(root) == "math" else ""

    def _position_tag(self, style: str) -> str:
        """Return "sup" or "sub" of a style for raised or lowered text ("super 58%", "33% 58%")."""
        position = self.style_value(style, "text-properties", "text-position").split(" ")[0]
        if position in ("super", "sub"):
            return "sup" if position == "super" else "sub"
        return "" if position in ("", "0%") else "sub" if position.startswith("-") else "sup"


def _inside(parent: _Element, name: str) -> Iterator[_Element]:
    """Yield the rows of a table, also those of headings and groups."""
    for element in parent:
        if local_name(element) == name:
            yield element
        elif local_name(element) in (_HEADING_ROWS, "table-rows", "table-row-group"):
            yield from _inside(element, name)


def _cells_with_content(row: _Element) -> Iterator[_Element]:
    return (cell for cell in children(row, "table-cell") if len(cell))


def _spell_out_all(blocks: Iterator[HtmlElement]) -> Iterator[HtmlElement]:
    for block in blocks:
        if len(block):
            spell_out(block)
        yield block


def _figure(element: _Element, name: str) -> int:
    given = attribute(element, name)
    return max(int(given), 1) if given.isascii() and given.isdigit() and len(given) < 8 else 1


def _text_of(element: _Element | None) -> str:
    return "" if element is None else clean_line("".join(map(str, element.itertext())))
