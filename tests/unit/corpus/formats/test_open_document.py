"""Read ODT, ODS and ODP."""

import pytest

from corpus.formats.process import read_document
from corpus.pages import NoContent, PageFormat
from tests.unit.corpus.formats.documents import lines_of, shown, zipped

OASIS = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES = " ".join(
    f'xmlns:{name}="{OASIS}:{kind}:1.0"'
    for name, kind in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"), ("draw", "drawing"),
        ("presentation", "presentation"),
    )
)  # fmt: skip


def odf(body: str, styles: str = "", **others: str) -> bytes:
    content = (
        f"<office:document-content {NAMESPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body>{body}</office:body></office:document-content>"
    )
    return zipped({"content.xml": content, **others})


def cells(*texts: str, **attributes: str) -> str:
    given = "".join(f' table:{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return "".join(f"<table:table-cell{given}><text:p>{text}</text:p></table:table-cell>" for text in texts)


def row(*parts: str, repeated: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{repeated}">{"".join(parts)}</table:table-row>'


def sheet(*rows: str, name: str = "Mills", style: str = "") -> str:
    return f'<table:table table:name="{name}" table:style-name="{style}">{"".join(rows)}</table:table>'


RAISED = (
    '<style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>'
    '<style:style style:name="T2"><style:text-properties style:text-position="-33% 58%"/></style:style>'
)


def test_a_text_keeps_headings_lists_tables_and_notes() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>With the parapet.</text:p></text:note-body></text:note>"
    )
    heads = f"<table:table-header-rows>{row(cells('Year', 'Level', 'Rain'))}</table:table-header-rows>"
    body = (
        '<office:text><text:h text:outline-level="2">Levels</text:h>'
        f"<text:p>The dam is 112{note} m<text:s/>high, holds 3 × 10"
        '<text:span text:style-name="T1">7</text:span> m<text:span text:style-name="T1">3</text:span>'
        ' of H<text:span text:style-name="T2">2</text:span>O.<text:line-break/>It is old.</text:p>'
        "<text:list><text:list-item><text:p>Bread</text:p>"
        "<text:list><text:list-item><text:p>Rye</text:p></text:list-item></text:list>"
        "</text:list-item></text:list>"
        + sheet(
            heads, row(cells("1960", number_rows_spanned="2"), cells("88", "12.5")), row(cells("89", "13"))
        )
        + "<text:p>It costs <office:annotation><text:p>secret</text:p></office:annotation>420.</text:p>"
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes></office:text>"
    )
    assert lines_of(PageFormat.ODT, odf(body, RAISED)) == [
        "## Levels",
        "The dam is 112 m high, holds 3 × 10⁷ m³ of H2O.",
        "It is old.",
        "With the parapet.",
        "Bread",
        "Rye",
        "Year: 1960; Level: 88; Rain: 12.5",
        "Year: 1960; Level: 89; Rain: 13",
        "It costs 420.",
    ]


def test_open_document_cells_keep_their_displayed_text() -> None:
    hidden = '<style:style style:name="off"><style:table-properties table:display="false"/></style:style>'
    covered = "<table:covered-table-cell/>"
    body = sheet(
        row(cells("Mills of Elg", number_columns_spanned="3"), covered, covered),
        row(cells("Day", "Morning", "Evening")),
        row(cells("Mon"), cells("closed", number_columns_spanned="2"), covered),
        row(cells("Tue"), cells("9", number_columns_repeated="2"), repeated=2),
        row('<table:table-cell table:number-columns-repeated="16384"/>', repeated=1_048_576),
    ) + sheet(row(cells("gone")), name="Draft", style="off")
    assert lines_of(PageFormat.ODS, odf(f"<office:spreadsheet>{body}</office:spreadsheet>", hidden)) == [
        "Mills of Elg",
        "Day: Mon; Morning: closed; Evening: closed",
        "Day: Tue; Morning: 9; Evening: 9",
        "Day: Tue; Morning: 9; Evening: 9",
    ]


def test_a_slide_is_a_page_with_its_title_first() -> None:
    frame = (
        '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'
    )
    slide = (
        f"<draw:page>{frame.format('outline', '88 m tall')}{frame.format('title', 'The tower')}"
        f"<presentation:notes>{frame.format('notes', 'Built in 1907.')}</presentation:notes></draw:page>"
    )
    page = read_document(
        PageFormat.ODP, odf(f"<office:presentation><draw:page/>{slide}</office:presentation>")
    )
    assert shown(page) == ["## The tower", "88 m tall", "Built in 1907."]
    assert {block.page for block in page.blocks} == {2}
    assert page.title == "The tower"


WIDE = row(cells("x", number_columns_repeated="9999999"))
TALL = row(cells("x"), repeated=9_999_999)


@pytest.mark.parametrize(
    ("page_format", "kind", "rows"),
    [
        (PageFormat.ODS, "spreadsheet", TALL),
        (PageFormat.ODS, "spreadsheet", WIDE),
        (PageFormat.ODT, "text", WIDE),
    ],
)
def test_malicious_cell_repetition_is_limited(page_format: PageFormat, kind: str, rows: str) -> None:
    with pytest.raises(NoContent, match="too large"):
        read_document(page_format, odf(f"<office:{kind}>{sheet(rows * 500)}</office:{kind}>"))


def test_encrypted_document_is_reported() -> None:
    entry = "<m:file-entry><m:encryption-data/></m:file-entry>"
    manifest = f'<m:manifest xmlns:m="{OASIS}:manifest:1.0">{entry}</m:manifest>'
    content = zipped({"content.xml": b"\x00", "META-INF/manifest.xml": manifest})
    with pytest.raises(NoContent, match="encrypted"):
        read_document(PageFormat.ODT, content)
