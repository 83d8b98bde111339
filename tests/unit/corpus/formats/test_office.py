"""Read DOCX, XLSX and PPTX, as other libraries write them."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from io import BytesIO
from typing import Any

import pytest

from corpus.formats.process import read_document
from corpus.formats.sheets import shown_number
from corpus.pages import NoContent, Page, PageFormat
from tests.unit.corpus.formats.documents import lines_of, shown, zipped


def saved(document: Any) -> bytes:
    written = BytesIO()
    document.save(written)
    return written.getvalue()


def word(fill: Callable[[Any], None]) -> Page:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.core_properties.modified = datetime(2024, 5, 1, tzinfo=UTC)
    fill(document)
    return read_document(PageFormat.DOCX, saved(document))


def test_a_word_document_keeps_its_structure() -> None:
    def fill(document: Any) -> None:
        document.add_heading("Visiting St Paul's", 0)
        document.add_heading("Opening hours", 1)
        document.add_paragraph("Bring boots", style="List Bullet")
        table = document.add_table(rows=4, cols=3)
        rows = [["Day", "Open", "Close"], ["Mon", "9", "17"], ["Tue", "", "16"], ["Closed at Easter", "", ""]]
        for row, texts in zip(table.rows, rows, strict=True):
            for cell, text in zip(row.cells, texts, strict=True):
                cell.text = text
        table.cell(1, 1).merge(table.cell(2, 1)).text = "9"
        table.cell(3, 0).merge(table.cell(3, 2)).text = "Closed at Easter"
        document.add_heading("Prices", 2)
        document.add_paragraph("Adults\tpay £5.").add_run().add_break()

    page = word(fill)
    assert shown(page) == [
        "# Visiting St Paul's",
        "# Opening hours",
        "Bring boots",
        "Day: Mon; Open: 9; Close: 17",
        "Day: Tue; Open: 9; Close: 16",
        "Closed at Easter",
        "## Prices",
        "Adults pay £5.",
    ]
    assert page.title == "Visiting St Paul's"
    assert page.last_modified == datetime(2024, 5, 1, tzinfo=UTC)


def test_superscripts_in_word_are_powers_or_notes() -> None:
    def fill(document: Any) -> None:
        paragraph = document.add_paragraph("The dam is 112")
        for raised, text in (("1", " m high and holds 5 m"), ("3", " of water.")):
            paragraph.add_run(raised).font.superscript = True
            paragraph.add_run(text)

    assert shown(word(fill)) == ["The dam is 112 m high and holds 5 m³ of water."]


def run(text: str, more: str = "") -> str:
    return f"<w:r>{more}<w:t>{text}</w:t></w:r>"


NOTE = "<w:footnoteReference w:id='2'/>"
BODY = "<w:document xmlns:w='urn:w' xmlns:mc='urn:mc'><w:body>{}</w:body></w:document>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"<w:sdt><w:sdtContent><w:p>{run('Inside')}</w:p></w:sdtContent></w:sdt>", ["Inside"]),
        (f"<w:p><w:ins>{run('new')}</w:ins><w:del>{run('old')}</w:del></w:p>", ["new"]),
        (f"<w:p>{run('secret', '<w:rPr><w:vanish/></w:rPr>')}{run('seen')}</w:p>", ["seen"]),
        (
            f"<w:p><w:r><w:t>Text</w:t><mc:AlternateContent><mc:Choice><w:txbxContent><w:p>{run('Box')}</w:p>"
            f"</w:txbxContent></mc:Choice><mc:Fallback><w:p>{run('Box')}</w:p></mc:Fallback>"
            "</mc:AlternateContent></w:r></w:p>",
            ["Text", "Box"],
        ),
        (f"<w:p>{run('112')}{run(' m', NOTE)}</w:p>", ["112 m", "In 1990."]),
    ],
)
def test_word_text_is_kept_exactly_once(body: str, expected: list[str]) -> None:
    note = f"<w:p>{run('In 1990.', NOTE)}</w:p>"
    relation = '<R><Relationship Id="n" Type="x/footnotes" Target="footnotes.xml"/></R>'
    files: dict[str, str | bytes] = {
        "word/document.xml": BODY.format(body),
        "word/_rels/document.xml.rels": relation,
        "word/footnotes.xml": f"<w:n xmlns:w='urn:w'><w:footnote w:id='2'>{note}</w:footnote></w:n>",
    }
    assert lines_of(PageFormat.DOCX, zipped(files)) == expected


def test_excel_numbers_and_dates_keep_their_cell_format() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont

    raised = InlineFont(vertAlign="superscript")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Bridges"
    sheet["A1"] = "Bridges of Lindvik"
    sheet.merge_cells("A1:D1")
    for row in (
        ["Bridge", "Length", "Share", "Opened"],
        ["Birch", 31.5, 0.125, date(1956, 5, 1)],
        ["Salt", CellRichText("112", TextBlock(raised, "1"), " m"), None, datetime(1971, 12, 31, 14, 30)],
    ):
        sheet.append(row)
    for cell, code in (("B3", '0.0" m"'), ("C3", "0.0%"), ("D4", "dd.mm.yyyy hh:mm")):
        sheet[cell].number_format = code
    sheet["A7"], sheet["B7"] = "Area", CellRichText("10 km", TextBlock(raised, "2"))
    hours = book.create_sheet("Hours")
    for row in (["Season", "Day", "Open"], ["Summer", "Mon", time(9, 30)], [None, "Tue", True]):
        hours.append(row)
    hours.merge_cells("A2:A3")
    book.create_sheet("Secret")["A1"] = "hidden"
    book["Secret"].sheet_state = "hidden"
    assert lines_of(PageFormat.XLSX, saved(book)) == [
        "## Bridges",
        "Bridges of Lindvik",
        "Bridge: Birch; Length: 31.5 m; Share: 12.5%; Opened: 1956-05-01",
        "Bridge: Salt; Length: 112 m; Opened: 31.12.1971 14:30",
        "Area; 10 km²",
        "## Hours",
        "Season: Summer; Day: Mon; Open: 9:30:00",
        "Season: Summer; Day: Tue; Open: yes",
    ]


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (1234.5, "#,##0.00", "1,234.50"),
        (5, "000", "005"),
        (3, "0.##", "3"),
        (3.14159, "0.##", "3.14"),
        (1_500_000, '0.0,,"M"', "1.5M"),
        (-5, "0;(0)", "(5)"),
        (0, '0;-0;"none"', "none"),
        (12, "$#,##0_);[Red]($#,##0)", "$12"),
        (1234.5, '#,##0.00\\ [$€-407]', "1,234.50 €"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (0.1 + 0.2, "General", "0.3"),
        (1956, "", "1956"),
        (45413, "d mmmm yyyy", "1 May 2024"),
        (45413, "[$-409]dddd, mmmm d, yyyy", "Wednesday, May 1, 2024"),
        (0.4, "h:mm AM/PM", "9:36 AM"),
        (1.5, "[h]:mm", "36:00"),
        (9e99, "yyyy-mm-dd", "9e+99"),
        (float("nan"), "0", ""),
    ],
)  # fmt: skip
def test_number_formats(value: float, code: str, expected: str) -> None:
    assert shown_number(value, code, datetime(1899, 12, 30)) == expected


def test_slides_carry_their_number_tables_and_notes() -> None:
    pptx = pytest.importorskip("pptx")
    show = pptx.Presentation()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text, first.placeholders[1].text = "The mill", "Opens at nine\nCloses at five"
    first.notes_slide.notes_text_frame.text = "Say hello."
    second = show.slides.add_slide(show.slide_layouts[5])
    second.shapes.title.text = "Prices"
    table = second.shapes.add_table(3, 3, 0, 0, 9_000_000, 900_000).table
    for row, texts in enumerate([["Who", "Summer", "Winter"], ["Adults", "5", "4"], ["Groups", "3", ""]]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(2, 1).merge(table.cell(2, 2))
    page = read_document(PageFormat.PPTX, saved(show))
    assert [(block.page, block.lines) for block in page.blocks] == [
        (1, ("The mill",)),
        (1, ("Opens at nine",)),
        (1, ("Closes at five",)),
        (1, ("Say hello.",)),
        (2, ("Prices",)),
        (2, ("Who: Adults; Summer: 5; Winter: 4", "Who: Groups; Summer: 3; Winter: 3")),
    ]


@pytest.mark.parametrize("page_format", [PageFormat.DOCX, PageFormat.XLSX, PageFormat.PPTX])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"%PDF-1.4", "damaged, or its name has the wrong suffix"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 Word", "older format"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "without a password"),
        (zipped({"a.txt": "words"}), "part of the file is missing"),
    ],
)
def test_other_files_are_refused_with_advice(page_format: PageFormat, content: bytes, reason: str) -> None:
    with pytest.raises(NoContent, match=reason):
        read_document(page_format, content)


def test_sheet_with_distant_cells_is_read() -> None:
    cells = "<row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c r='XFD1048576'><v>2</v></c></row>"
    merged = "<mergeCells><mergeCell ref='A1:XFD1048576'/></mergeCells>"
    book = "<workbook xmlns:r='urn:r'><sheets><sheet name='A' r:id='a'/></sheets></workbook>"
    relations = '<R><Relationship Id="a" Type="x/worksheet" Target="sheet.xml"/></R>'
    sheet = f"<worksheet><sheetData>{cells}</sheetData>{merged}</worksheet>"
    files: dict[str, str | bytes] = {"xl/workbook.xml": book, "xl/sheet.xml": sheet}
    content = zipped(files | {"xl/_rels/workbook.xml.rels": relations})
    assert lines_of(PageFormat.XLSX, content) == ["1: 1", "1: 2"]
