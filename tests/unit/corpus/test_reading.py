"""Read documents in a process that can be ended."""

from pathlib import Path

import pytest

from chassis.decoding import pool
from chassis.decoding.pool import Program
from corpus import reading
from corpus.pages import NoContent, PageFormat
from corpus.reading import read_page
from corpus.records import PageRecord

HOSTILE = """
import resource, sys, time
from chassis.decoding.program import Bounds, serve
from corpus.formats import process

def handle(arguments, data):
    match data:
        case b"dies": import os; os.abort()
        case b"loops":
            while True: pass
        case b"sleeps": time.sleep(60)
        case b"grows":
            try: held = [bytes(1 << 24) for _ in range(1 << 20)]
            except MemoryError: return process.NO_CONTENT, (b"too large",)
        case b"lies": return 0, (b'{"url": 1}',)
    return process._handle(arguments, data)

serve(handle, Bounds(0.5, ((resource.RLIMIT_DATA, 512 << 20),)))
"""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"dies", "damaged, or too large"),
        (b"loops", "takes too long"),
        (b"sleeps", "takes too long"),
        (b"grows", "too large"),
        (b"lies", "cannot be read"),
    ],
)
def test_a_document_that_harms_its_process_is_refused_and_the_next_one_is_read(
    content: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_reader.py").write_text(HOSTILE)
    monkeypatch.setattr(pool, "_PATHS", (str(tmp_path), *pool._PATHS))
    monkeypatch.setattr(reading, "_PROGRAM", Program("hostile_reader", "document", most_s=3))
    monkeypatch.setattr(reading, "_READER", reading._Reader())
    with pytest.raises(NoContent, match=reason):
        read_page(PageRecord("a.txt", content, PageFormat.TEXT, "https://a.example"))
    assert read_page(PageRecord("a.txt", b"words", PageFormat.TEXT, "https://a.example")).blocks
    reading._READER._readers.close()


def test_a_page_is_the_same_behind_the_process() -> None:
    table = b"<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    content = b"<title>The mill</title><h1>The mill</h1>" + table
    page = read_page(PageRecord("mill.html", content, PageFormat.HTML, fallback_url="file:mill.html"))
    assert (page.url, page.title, page.blocks[1].lines) == ("file:mill.html", "The mill", ("a: 1; b: 2",))
