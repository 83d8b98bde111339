"""Read CSV and TSV."""

import pytest

from corpus.pages import NoContent, PageFormat
from tests.unit.corpus.formats.documents import lines_of

ROWS = ["Bridge: Birch Bridge; Length, m: 31,5", "Bridge: Salt Bridge; Length, m: 112"]


@pytest.mark.parametrize(
    "text",
    [
        'Bridge,"Length, m"\nBirch Bridge,"31,5"\nSalt Bridge,112\n',
        "Bridge;Length, m\r\nBirch Bridge;31,5\r\nSalt Bridge;112",
        "sep=|\nBridge|Length, m\nBirch Bridge|31,5\nSalt Bridge|112",
        "\ufeffBridge\tLength, m\nBirch Bridge\t31,5\nSalt Bridge\t112",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_rows_carry_their_column_names_whatever_the_delimiter(text: str, encoding: str) -> None:
    assert lines_of(PageFormat.CSV, text.encode(encoding)) == ROWS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("height,112 m\nopened,1956\n", ["height: 112 m", "opened: 1956"]),
        ("Country,2022,2023\nNorway,5.4,5.5\n", ["Country: Norway; 2022: 5.4; 2023: 5.5"]),
        ("Birch,31,1956\nSalt,112,1971\n", ["Birch; 31; 1956", "Salt; 112; 1971"]),
        ("Museums\n\nName,Town,Opens\nMill,Lindvik,9\n", ["Museums", "Name: Mill; Town: Lindvik; Opens: 9"]),
        ('Name,Note,Year\nMill,"two\nlines",1820\n', ["Name: Mill; Note: two lines; Year: 1820"]),
        ('Name,Note,Year\nMill,5" wheel,1820\n', ['Name: Mill; Note: 5" wheel; Year: 1820']),
        ('Name,Note,Year\nMill,"open,1820\n', ['Name: Mill; Note: "open; Year: 1820']),
        ("Opening hours\nMonday closed\n", ["Opening hours", "Monday closed"]),
        ("Name,Town,Opens\nMill,Lindvik\n", ["Name: Mill; Town: Lindvik"]),
    ],
)
def test_tables_with_and_without_column_names(text: str, expected: list[str]) -> None:
    assert lines_of(PageFormat.CSV, text.encode()) == expected


def test_a_tsv_keeps_its_commas() -> None:
    content = "Name\tTown\tNote\nMill\tLindvik, Norway\told, but open\n".encode("cp1252")
    assert lines_of(PageFormat.TSV, content) == ["Name: Mill; Town: Lindvik, Norway; Note: old, but open"]


def test_a_table_of_a_million_columns_is_refused() -> None:
    with pytest.raises(NoContent, match="too wide"):
        lines_of(PageFormat.CSV, b",".join([b"x"] * 1_000_000))
