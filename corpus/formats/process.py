"""Read documents in a process of its own, whose time and memory are bounded.

python -m corpus.formats.process   # see `chassis.decoding.program`; a job: a format, or `PICTURE` and a page
"""

import json
import resource
from collections.abc import Sequence
from dataclasses import asdict

from chassis.decoding.program import Bounds, Result, serve
from corpus.extraction import read_document
from corpus.formats.pdf import render_page
from corpus.formats.suffixes import PageFormat
from corpus.pages import NoContent

PICTURE = b"picture"
"""The first argument of a job that renders a page; the second is its number."""
NO_CONTENT, UNREADABLE = 1, 2
"""The status of a reply. 0: it holds the page as JSON; NO_CONTENT: the reason, for the user."""

CPU_S = 90.0
"""Processor seconds for one document: 3,000 pages of PDF take 60."""
MEMORY_BYTES = 1536 << 20
"""The most data of the process: 16 MiB of HTML take 500 MB, a workbook of two million cells 1.1 GB."""
_OPEN_FILES = 64


def _handle(arguments: Sequence[bytes], data: bytes) -> Result:
    try:
        if arguments[0] == PICTURE:
            return 0, (render_page(data, int(arguments[1])),)
        page = read_document(PageFormat(arguments[0].decode()), data)
        text = json.dumps(asdict(page), default=str, ensure_ascii=False)
        return 0, (text.encode(errors="replace"),)  # pydantic reads no half characters
    except NoContent as reason:
        return NO_CONTENT, (str(reason).encode(),)
    except MemoryError:
        return NO_CONTENT, (b"The document is too large to be read.",)
    except Exception:  # noqa: BLE001 - whatever a hostile document makes a reader do
        return UNREADABLE, ()


if __name__ == "__main__":
    limits = ((resource.RLIMIT_DATA, MEMORY_BYTES), (resource.RLIMIT_NOFILE, _OPEN_FILES))
    serve(_handle, Bounds(CPU_S, limits))
