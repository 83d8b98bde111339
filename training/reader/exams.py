"""Questions with the passages that the reader is given for them, to measure and to calibrate it."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from services.reader.engine import Passage, PassageKind
from training.reader.bm25 import Bm25
from training.reader.rows import Asked, asked, passages_of, places, squad_rows

_EACH = 3
"""Questions about a thing, at most: more would weigh as much as another thing."""


@dataclass(frozen=True, slots=True)
class Exam:
    """`golds`: accepted answers, none where the passages have none. `others`: of questions about the same."""

    question: Asked
    passages: tuple[Passage, ...]
    others: tuple[str, ...]
    source: str

    @property
    def golds(self) -> tuple[str, ...]:
        """The accepted answers."""
        return self.question.accepted


def read_exams(file: Path, limit: int, depth: int, seed: int) -> list[Exam]:
    """Return so many exams of a file: in SQuAD's format, or with rows as in `training/reader/rows`."""
    draw = Random(seed)
    return _squad_exams(file, limit, depth, draw) if file.suffix == ".json" else _own_exams(file, limit, draw)


def _squad_exams(file: Path, limit: int, depth: int, draw: Random) -> list[Exam]:
    """Search all paragraphs of the file for each question, and keep the best `depth`."""
    rows = list(squad_rows(file))
    paragraphs = sorted({(row.title, row.passage) for row in rows})
    search = Bm25([f"{title}\n{text}" for title, text in paragraphs])
    answers: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        answers[row.passage].update(row.passage[start:end] for start, end in row.spans[:1])
    exams = []
    for row in draw.sample(rows, min(limit, len(rows))):
        found = [paragraphs[place] for place in search.best(row.question, depth)]
        golds = tuple(row.passage[start:end] for start, end in row.spans)
        others = {answer for _, text in found for answer in answers[text]} - set(golds)
        passages = tuple(Passage(text, title) for title, text in found)
        exams.append(Exam(Asked(row.question, "", golds), passages, tuple(sorted(others)), "squad"))
    return exams


def _own_exams(file: Path, limit: int, draw: Random) -> list[Exam]:
    content = file.read_bytes()
    lines = (gzip.decompress(content) if file.suffix == ".gz" else content).splitlines()
    entries: list[dict[str, Any]] = [json.loads(line) for line in lines]
    answers: defaultdict[str, set[str]] = defaultdict(set)
    for entry in entries:
        answers[_thing(entry)].update(answer for each in asked(entry) for answer in each.accepted[:1])
    draw.shuffle(entries)
    exams = [exam for entry in entries for exam in _exams_of(entry, answers[_thing(entry)], file.stem, draw)]
    return exams[:limit]


def _exams_of(entry: dict[str, Any], answers: set[str], source: str, draw: Random) -> Iterator[Exam]:
    questions = list(asked(entry))
    passages = tuple(_passage(each) for each in passages_of(entry))
    for each in draw.sample(questions, min(_EACH, len(questions))):
        yield Exam(each, passages, tuple(sorted(answers - set(each.accepted))), source)


def _passage(entry: dict[str, Any]) -> Passage:
    kinds = {kind.value: kind for kind in PassageKind}
    kind = kinds.get(entry.get("kind", ""), PassageKind.PAGE)
    return Passage(entry["text"], entry.get("title") or "", kind)


def _thing(entry: dict[str, Any]) -> str:
    return entry.get("subject") or str(passages_of(entry)[0]["text"])


def holding(passages: Sequence[Passage], answer: str) -> Passage | None:
    """Return the first passage that has the answer as whole words."""
    return next((each for each in passages if any(True for _ in places(each.text, [answer]))), None)
