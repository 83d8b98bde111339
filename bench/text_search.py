"""`python -m bench.text_search [CHUNKS]`: how long searching and indexing take on this machine."""

import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

from chassis.vectors.edge import EdgeStore
from services.text_search.engine import Passage
from services.text_search.engines.indexed import IndexedTextSearch

_WORDS_A_CHUNK = 150
_CHUNKS_A_CALL = 250
_ROUNDS = 200


def main(chunks: int) -> None:
    """Index `chunks` passages of words with natural frequencies (Zipf), then search them."""
    write = sys.stdout.write
    draw = random.Random(0)
    vocabulary = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(3, 10))) for _ in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]

    def text(words: int) -> str:
        return " ".join(draw.choices(vocabulary, weights, k=words))

    passages = [
        Passage(str(uuid.UUID(int=number)), f"https://a.example/{number}", text(5), text(_WORDS_A_CHUNK))
        for number in range(chunks)
    ]
    with tempfile.TemporaryDirectory() as folder:
        engine = IndexedTextSearch(EdgeStore(Path(folder)))
        engine.store.create("measured", engine.schema)
        indexing = _seconds(lambda: _index(engine, passages))
        publishing = _seconds(lambda: engine.store.publish("pages", "measured"))
        write(f"{chunks} chunks: indexed in {indexing:.1f} s, published in {publishing:.2f} s\n")
        for queries in (1, 3, 8):
            rounds = [[text(8) for _ in range(queries)] for _ in range(_ROUNDS)]
            times = sorted(_seconds(partial(engine.search, each, 10, "pages")) for each in rounds)
            p50, p95 = statistics.median(times) * 1000, times[int(_ROUNDS * 0.95)] * 1000
            write(f"{queries} sub-queries, 10 hits: p50 {p50:.1f} ms, p95 {p95:.1f} ms\n")
        engine.store.close()


def _index(engine: IndexedTextSearch, passages: list[Passage]) -> None:
    for start in range(0, len(passages), _CHUNKS_A_CALL):
        engine.index("measured", passages[start : start + _CHUNKS_A_CALL])


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
