"""What is asked of the reader stays within what it takes."""

from contracts.answer import CitationKind
from gateway.clients.reading import read_request
from gateway.state import ToRead
from services.reader.routes import MAX_CHARACTERS


def test_pages_that_are_too_long_together_are_left_out_from_the_end() -> None:
    pages = [ToRead("word " * 4_000, f"Page {place}", CitationKind.PAGE) for place in range(40)]
    asked = read_request("who wrote it?", pages, None, (), 1)
    assert sum(len(each.text) + len(each.title) for each in asked.passages) <= MAX_CHARACTERS
    assert [each.title for each in asked.passages] == [page.title for page in pages[: len(asked.passages)]]
    assert len(asked.passages) > 5
