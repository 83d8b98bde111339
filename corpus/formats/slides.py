"""PPTX: the slides in their order, each with its title, texts, tables and speaker notes."""

from collections.abc import Iterator
from dataclasses import replace

from lxml.etree import _Element
from lxml.html import HtmlElement
from lxml.html.builder import E

from corpus.formats.package import Package, attribute, child, children, local_name, relation_id
from corpus.formats.tables import tree_blocks
from corpus.formulas import formula_text
from corpus.inline import append_text
from corpus.pages import Block, NoContent, Page

_TITLES = ("title", "ctrTitle")
_LEFT_OUT = (*_TITLES, "dt", "ftr", "sldNum", "hdr", "sldImg")
"""Placeholders that are no content, and the title, which comes first."""
_OFF = ("0", "false")


def read_slides(content: bytes) -> Page:
    """Read a presentation. Raises `NoContent`."""
    package = Package(content)
    main = package.main_part("ppt/presentation.xml")
    parts = package.related(main)
    blocks: list[Block] = []
    for number, entry in enumerate(children(child(package.xml(main), "sldIdLst"), "sldId"), 1):
        _, name = parts.get(relation_id(entry), ("", ""))
        if name in package:
            blocks += (replace(block, page=number) for block in _slide(package, name))
    title, modified = package.properties()
    if not blocks:
        raise NoContent("There is no text in the slides.")
    first = next((block.lines[0] for block in blocks if block.level), "")
    return Page("", first or title, tuple(blocks), modified)


def _slide(package: Package, name: str) -> Iterator[Block]:
    slide = package.xml(name)
    if attribute(slide, "show") in _OFF:
        return
    shapes = list(_shapes(child(slide, "cSld", "spTree")))
    title = next((shape for shape in shapes if _placeholder(shape) in _TITLES), None)
    tree = E.article()
    if title is not None:
        tree.append(E.h2(*_paragraphs(title)))
    for shape in shapes:
        if _placeholder(shape) not in _LEFT_OUT:
            tree.extend(_content(shape))
    notes = next((part for kind, part in package.related(name).values() if kind == "notesSlide"), "")
    if notes in package:
        for shape in _shapes(child(package.xml(notes), "cSld", "spTree")):
            if _placeholder(shape) == "body":
                tree.extend(_paragraphs(shape))
    yield from tree_blocks(tree)


def _shapes(tree: _Element | None) -> Iterator[_Element]:
    """Yield shapes and frames, also those of groups."""
    for element in () if tree is None else tree:
        name = local_name(element)
        if name in ("sp", "graphicFrame"):
            yield element
        elif name in ("grpSp", "AlternateContent", "Choice"):
            yield from _shapes(element)


def _placeholder(shape: _Element) -> str:
    """Return the kind of a placeholder; "body" if it does not say, empty of other shapes."""
    place = child(shape, "nvSpPr", "nvPr", "ph")
    return "" if place is None else attribute(place, "type") or "body"


def _content(shape: _Element) -> Iterator[HtmlElement]:
    if local_name(shape) == "sp":
        yield from _paragraphs(shape)
        return
    for table in shape.iter():
        if local_name(table) == "tbl":
            yield E.table(*(E.tr(*_cells(row)) for row in children(table, "tr")))


def _cells(row: _Element) -> Iterator[HtmlElement]:
    """Yield the cells, without those that another one spans."""
    for cell in children(row, "tc"):
        if attribute(cell, "hMerge") in ("", *_OFF) and attribute(cell, "vMerge") in ("", *_OFF):
            spans = {
                "colspan": attribute(cell, "gridSpan") or "1",
                "rowspan": attribute(cell, "rowSpan") or "1",
            }
            yield E.td(*_paragraphs(cell), **spans)


def _paragraphs(shape: _Element) -> Iterator[HtmlElement]:
    for paragraph in children(child(shape, "txBody"), "p"):
        element = E.p()
        for run in children(paragraph, "r", "br", "fld", "m", "AlternateContent"):
            formula = next((each for each in run.iter() if local_name(each) == "oMath"), None)
            if formula is not None:
                append_text(element, formula_text(formula))
                continue
            if local_name(run) == "br":
                element.append(E.br())
                continue
            text = child(run, "t")
            rise = attribute(child(run, "rPr"), "baseline")
            shown = "" if text is None else text.text or ""
            raised = None if rise in ("", "0") else "sub" if rise.startswith("-") else "sup"
            append_text(element, shown, raised)
        yield element
