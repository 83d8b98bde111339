"""Searches of an index of a size, beside what is exactly nearest."""

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import qdrant_edge as edge

from bench.sized_index import ALIAS, PASSAGES_A_PAGE, QUERIES, SERVICES, page_url
from bench.synthetic_index import BLOCK, NEAREST, Floats, NearestScores, Numbers, Terms
from chassis.vectors.dense_index import DenseIndex
from chassis.vectors.edge import EdgeStore
from chassis.vectors.edge_shard import search_params
from chassis.vectors.port import ScoredPoint, SparseVector
from services.text_search.engines.hybrid import MEANING
from services.text_search.lexical import TERMS
from services.text_search.storage import URL

ROUNDS = 5
_SPARSE_QUERIES = 40
_NEARLY = 1e-5
"""Scores are compared in single precision."""
_FILTERED = {"a hundredth": 100, "a thousandth": 1_000}


@dataclass(frozen=True, slots=True)
class Exact:
    """The least score of each query's NEAREST: among all points, and among those that a filter leaves."""

    points: int
    dense: Floats
    filtered: dict[str, Floats]
    sparse: Floats | None


@dataclass(frozen=True, slots=True)
class Asked:
    """How many of the exact NEAREST were found, 0..1 (nan: not compared), and how long each query took."""

    recall: float
    times_ms: list[float]


@dataclass(frozen=True, slots=True)
class Served:
    """What a process that only searches saw. `first`: with nothing of the index in memory.

    `anonymous_mib` cannot be given back, `mapped_mib` can: it is what was read of files.
    """

    opened_s: float
    first: Asked
    dense: Asked
    others: dict[str, Asked]
    anonymous_mib: float
    mapped_mib: float


def exact(service: str, points: int) -> Exact:
    """By looking at every point, block by block. `points`: a multiple of BLOCK."""
    sized = SERVICES[service]
    queries = sized.meanings.queries(QUERIES)
    everything = NearestScores(QUERIES)
    enough = [name for name, share in _FILTERED.items() if sized.terms and points // share >= NEAREST]
    left = {name: NearestScores(QUERIES) for name in enough}
    for block in range(points // BLOCK):
        scores = queries @ sized.meanings.block(block).T
        everything.add(scores)
        pages = (block * BLOCK + np.arange(BLOCK)) // PASSAGES_A_PAGE
        for name, nearest in left.items():
            nearest.add(scores[:, pages % _FILTERED[name] == 0])
    sparse = _exact_terms(sized.terms, points) if sized.terms else None
    return Exact(points, everything.least, {name: each.least for name, each in left.items()}, sparse)


def _exact_terms(terms: Terms, points: int) -> Floats:
    asked = terms.queries(_SPARSE_QUERIES)
    blocks = range(points // BLOCK)
    held = sum(np.bincount(terms.block(block).words, minlength=len(terms.vocabulary)) for block in blocks)
    idf = np.log((points - held + 0.5) / (held + 0.5) + 1)
    wanted = np.zeros((_SPARSE_QUERIES, len(terms.vocabulary)), np.float32)
    np.put_along_axis(wanted, asked, idf[asked].astype(np.float32), axis=1)
    nearest = NearestScores(_SPARSE_QUERIES)
    for number in blocks:
        block = terms.block(number)
        nearest.add(np.add.reduceat(wanted[:, block.words] * block.weights, block.starts[:-1], axis=1))
    return nearest.least


def served(service: str, folder: Path, index: DenseIndex, nearest: Exact) -> Served:
    """Everything that is measured in a process of its own."""
    _out_of_memory(folder)
    began = time.perf_counter()
    store = EdgeStore(folder, dense=index)
    opened_s = time.perf_counter() - began
    sized = SERVICES[service](store)
    queries = [query.tolist() for query in sized.meanings.queries(QUERIES)]

    def dense(number: int) -> list[float]:
        return _scores(store.search(ALIAS, sized.dense, queries[number], NEAREST))

    def engine(number: int) -> list[float]:
        sized.ask(ALIAS, number)
        return []

    first = _asked(dense, nearest.dense, 1)
    warm = _asked(dense, nearest.dense, ROUNDS)
    held = _memory()
    others: dict[str, Asked] = {}
    if sized.terms is not None and nearest.sparse is not None:
        terms = [_question(sized.terms, words) for words in sized.terms.queries(_SPARSE_QUERIES)]
        others["terms"] = _asked(
            lambda number: _scores(store.search(ALIAS, TERMS, terms[number], NEAREST)), nearest.sparse, ROUNDS
        )
    others["the engine's whole search"] = _asked(engine, None, ROUNDS)
    store.close()
    for name in nearest.filtered:
        others[f"dense, a filter leaves {name}"] = _filtered(folder, index, name, nearest, queries)
    return Served(opened_s, first, warm, others, *held)


def _scores(points: Sequence[ScoredPoint]) -> list[float]:
    return [point.score for point in points]


def _question(terms: Terms, words: Numbers) -> SparseVector:
    return SparseVector(tuple(terms.dimensions[words].tolist()), (1.0,) * len(words))


def _asked(search: Callable[[int], Sequence[float]], least: Floats | None, rounds: int) -> Asked:
    found, times_ms = 0, list[float]()
    count = QUERIES if least is None else len(least)
    for _ in range(rounds):
        for number in range(count):
            began = time.perf_counter()
            scores = search(number)
            times_ms.append(1000 * (time.perf_counter() - began))
            if least is not None:
                found += sum(score >= least[number] - _NEARLY for score in scores)
    recall = found / (rounds * count * NEAREST) if least is not None else float("nan")
    return Asked(min(recall, 1.0) if least is not None else recall, times_ms)


def _filtered(
    folder: Path, index: DenseIndex, name: str, nearest: Exact, queries: Sequence[list[float]]
) -> Asked:
    """By the one field that the services index. They filter no search, so the shard is asked itself."""
    shard = edge.EdgeShard.load(str(folder / "collections" / "v1" / "shard"))
    pages = range(0, nearest.points // PASSAGES_A_PAGE, _FILTERED[name])
    urls = edge.MatchAny([page_url("v1", page) for page in pages])
    chosen = edge.Filter(must=[edge.FieldCondition(URL, match=urls)])

    def search(number: int) -> list[float]:
        query = edge.Query.Nearest(queries[number], using=MEANING)
        params = search_params(index)
        request = edge.QueryRequest(NEAREST, query=query, with_payload=True, params=params, filter=chosen)
        return [point.score for point in shard.query(request)]

    asked = _asked(search, nearest.filtered[name], 1)
    shard.close()
    return asked


def _memory() -> tuple[float, float]:
    """MiB of this process that no file is behind, and MiB that are mapped from files."""
    text = Path("/proc/self/status").read_text()
    kib = dict(re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE))
    return int(kib["RssAnon"]) / 1024, int(kib["RssFile"]) / 1024


def _out_of_memory(folder: Path) -> None:
    """Let the system forget what it keeps of the files, as after a start."""
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
