"""Rows of a table that look alike: the row that a question names is read alone."""

import pytest

from services.reader.engines.rows import with_named_rows

ADULT, CHILD = "Ticket: Adult; Price: £14.50", "Ticket: Child (5 to 15); Price: £7.20"
FAMILY = "Ticket: Family; Price: £36.00"
TABLE = f"Prices of this year.\n{ADULT}\n{CHILD}\n{FAMILY}\nDogs are free."


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What does a family ticket cost?", [FAMILY]),
        ("How much do adults pay?", [ADULT]),
        ("Which ticket costs £7.20?", [CHILD]),
        ("What does an adult or a family pay?", [ADULT, CHILD, FAMILY]),
        ("What does a ticket cost?", [ADULT, CHILD, FAMILY]),
        ("Are dogs free?", [ADULT, CHILD, FAMILY]),
    ],
)
def test_only_a_row_that_the_question_names_is_read(question: str, rows: list[str]) -> None:
    read = with_named_rows(question, TABLE)
    lines = read.split("\n")
    assert [line for line in lines if "Ticket" in line] == rows
    assert (lines[0], lines[-1]) == ("Prices of this year.", "Dogs are free.")
    assert len(read) == len(TABLE)
    assert all(read.find(row) in (-1, TABLE.find(row)) for row in (ADULT, CHILD, FAMILY))


@pytest.mark.parametrize(
    "text", ["", "A; b", "Height: 30 m", "Opened: 1908; Height: 31 m", "a\r\nb; c: d\r\n"]
)
def test_text_without_rows_that_look_alike_stays(text: str) -> None:
    assert with_named_rows("How high is it?", text) == text
