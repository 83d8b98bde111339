"""Read PDF."""

import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from corpus.formats.process import read_document
from corpus.pages import Block, BlockKind, NoContent, PageFormat
from tests.unit.corpus.formats.documents import lines_of, shown
from tests.unit.corpus.formats.pdf_files import Text, pdf


def blocks_of(*pages: list[Text]) -> tuple[Block, ...]:
    return read_document(PageFormat.PDF, pdf(*pages)).blocks


def column(x: float, y: float, *lines: str) -> list[Text]:
    return [Text(x, y - 12 * number, line) for number, line in enumerate(lines)]


PAGE = [
    Text(50, 700, "Visiting St Paul's", 24),
    Text(50, 660, "Opening hours", 14, is_bold=True),
    *column(
        50,
        640,
        "The cathedral is open on all days but Mon-",
        "day. It is a well-known and large place, which",
    ),
    Text(50, 616, "holds 5 m"),
    Text(92, 620, "3", 6),
    Text(96, 616, " of water."),
]


def test_headings_paragraphs_and_superscripts_are_read() -> None:
    page = read_document(PageFormat.PDF, pdf(PAGE, title="guide.indd"))
    assert shown(page) == [
        "# Visiting St Paul's",
        "## Opening hours",
        "The cathedral is open on all days but Monday. It is a well-known and large place,"
        " which holds 5 m³ of water.",
    ]
    assert page.title == "Visiting St Paul's"
    assert page.last_modified == datetime.fromisoformat("2024-05-01T12:00:00+02:00")


def test_rotated_pages_are_read() -> None:
    upright = read_document(PageFormat.PDF, pdf(PAGE[:4]))
    assert read_document(PageFormat.PDF, pdf(PAGE[:4], rotated=True)) == upright


@pytest.mark.parametrize(
    "page",
    [
        [Text(50, 700, "The dam is 112"), Text(114, 704, "1", 6), Text(118, 700, " m high.")],
        [Text(50, 700, r"The dam\001 is 112"), Text(116, 704, r"\0021", 6), Text(124, 700, r" m high.")],
    ],
)
def test_footnote_marks_and_invisible_characters_are_removed(page: list[Text]) -> None:
    [block] = blocks_of(page)
    assert block.lines == ("The dam is 112 m high.",)


def test_rows_of_a_table_carry_their_column_names() -> None:
    rows = [("Day", "Open", "Close"), ("Tuesday", "9:00", "17:00"), ("Wednesday", "", "18:00")]
    page = [
        Text(50 + 60 * place, 700 - 20 * number, text)
        for number, row in enumerate(rows)
        for place, text in enumerate(row)
        if text
    ]
    [table] = blocks_of(page)
    assert table.kind is BlockKind.TABLE
    assert table.lines == ("Day: Tuesday; Open: 9:00; Close: 17:00", "Day: Wednesday; Close: 18:00")


def test_cells_without_a_clear_column_stay_in_their_line() -> None:
    rows = [["Tuesday", "9:00", "17:00"], ["a very long cell in between", "18:00"]]
    page = [Text(50 + 60 * n, 700, text) for n, text in enumerate(rows[0])]
    page += [Text(50 + 140 * n, 680, text) for n, text in enumerate(rows[1])]
    assert [block.lines for block in blocks_of(page)] == [
        ("Tuesday 9:00 17:00",),
        ("a very long cell in between 18:00",),
    ]


def test_columns_are_read_one_after_the_other() -> None:
    left = [f"the left column has its line {number} here" for number in range(20)]
    right = [f"the right column has its line {number} here" for number in range(20)]
    blocks = blocks_of(column(50, 700, *left) + column(320, 700, *right))
    assert " ".join(line for block in blocks for line in block.lines) == " ".join(left + right)


def test_short_lines_are_list_items_without_bullets() -> None:
    items = [
        Text(50, 700, "• Adults pay £25"),
        *column(50, 650, "Adults", "Children", "Students with a card"),
    ]
    assert [(block.kind, block.lines) for block in blocks_of(items)] == [
        (BlockKind.LIST, ("Adults pay £25",)),
        (BlockKind.LIST, ("Adults", "Children", "Students with a card")),
    ]


def test_headers_and_page_numbers_are_removed_and_sentences_joined() -> None:
    pages = [
        [
            Text(50, 780, "Museum guide"),
            *column(50, 700, f"Room {'ABCDE'[n]} is very large.", f"{'ABCDE'[n]} has stairs."),
            *column(50, 640, f"From {'ABCDE'[n]} they lead", f"to {'ABCDE'[n]} and to a room that"),
            Text(300, 20, f"page {n + 1} of 5"),
        ]
        for n in range(5)
    ]
    pages[1][1] = Text(50, 700, "comes next.")
    text = " ".join(line for block in blocks_of(*pages) for line in block.lines)
    assert "Museum guide" not in text
    assert "of 5" not in text
    assert "a room that comes next." in text
    assert [block.page for block in blocks_of(*pages)][-1] == 5


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>", "damaged, or its name has the wrong suffix"),
        (b"%PDF-1.4 nothing else", "damaged"),
        (pdf([]), "no text"),
        (pdf(*[[]] * 3_001), "too many pages"),
        (b"%PDF-1.4\n" + b"[" * 1_000_000, "damaged"),
        (pdf(PAGE)[:700], "damaged|no text"),
    ],
)
def test_unreadable_document_is_refused_with_advice(content: bytes, reason: str) -> None:
    with pytest.raises(NoContent, match=reason):
        lines_of(PageFormat.PDF, content)


def test_browser_print_is_read(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("Chromium is not installed.")
    (tmp_path / "page.html").write_text(
        "<title>The mill</title><h1>The mill</h1>"
        "<p>The dam is 112<sup>1</sup> m high and holds 5 m<sup>3</sup>."
        "<table border=1><tr><th>Day</th><th>Open</th><th>Close</th></tr>"
        "<tr><td>Wednesday</td><td>9:00</td><td>17:00</td></tr>"
        "<tr><td>Sunday</td><td></td><td>12:00</td></tr></table>"
    )
    options = ["--headless", "--no-sandbox", "--no-pdf-header-footer", f"--user-data-dir={tmp_path / 'user'}"]
    options += [f"--print-to-pdf={tmp_path / 'page.pdf'}", (tmp_path / "page.html").as_uri()]
    subprocess.run([browser, *options], check=True, capture_output=True, timeout=120)
    lines = lines_of(PageFormat.PDF, (tmp_path / "page.pdf").read_bytes())
    assert lines == [
        "# The mill",
        "The dam is 112 m high and holds 5 m³.",
        "Day: Wednesday; Open: 9:00; Close: 17:00",
        "Day: Sunday; Close: 12:00",
    ]
