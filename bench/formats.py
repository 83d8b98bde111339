"""Measure the readers of documents: python -m bench.formats FILE…

Prints for each suffix the documents, pages (of PDF and slides, else of 3,000 characters) a second of one
processor, and the memory of the process that reads them.
"""

import resource
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from corpus.extraction import read_document
from corpus.formats.suffixes import PAGE_FORMATS

_CHARS_A_PAGE = 3_000


def measure(files: list[Path]) -> tuple[int, float, float]:
    """Return pages, seconds of a processor, and MiB of memory at most. Runs in a process of its own."""
    pages, began = 0, time.process_time()
    for file in files:
        page = read_document(PAGE_FORMATS[file.suffix.lower()], file.read_bytes())
        chars = sum(len(line) for block in page.blocks for line in block.lines)
        pages += max(block.page for block in page.blocks) or -(-chars // _CHARS_A_PAGE)
    return pages, time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(names: list[str]) -> None:
    """Print the table."""
    groups: dict[str, list[Path]] = defaultdict(list)
    for name in names:
        groups[Path(name).suffix.lower()].append(Path(name))
    sys.stdout.write(
        "| suffix | documents | MB | pages | pages a second | MiB |\n|---|---:|---:|---:|---:|---:|\n"
    )
    for suffix, files in sorted(groups.items()):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            pages, seconds, memory = pool.submit(measure, files).result()
        size = sum(file.stat().st_size for file in files) / 1e6
        sys.stdout.write(
            f"| {suffix} | {len(files)} | {size:.1f} | {pages} | {pages / seconds:,.0f} | {memory:.0f} |\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
