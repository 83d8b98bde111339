"""Questions with the passages that the reader gets for them, to measure and to calibrate it."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from evaluation.data.model import DatasetError
from evaluation.data.squad import match_titles
from gateway.steps.evidence import chunk_text
from services.reader.engine import Passage, PassageKind
from training.reader.bm25 import Bm25
from training.reader.rows import passages_of, places, questions_of, squad_rows

_QUESTIONS_EACH = 3
"""About one thing, at most, so that no thing outweighs the others."""


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """A question and its passages.

    `subject`: what "this" stands for, if it has a name. `golds`: the accepted answers; empty if the passages
    have none. `other_answers`: answers to other questions about the same passages. `source`: the file.
    """

    question: str
    subject: str | None
    golds: tuple[str, ...]
    passages: tuple[Passage, ...]
    other_answers: tuple[str, ...]
    source: str


def read_tasks(
    file: Path, limit: int, depth: int, seed: int, articles: Sequence[str] = ()
) -> list[ReadingTask]:
    """Return at most `limit` tasks of a file: in SQuAD's format, or with rows as in `training/reader/rows`.

    `depth`: paragraphs that a search returns for a question in SQuAD's format. `articles`: titles in such a
    file; the others are neither asked about nor searched. Raises `DatasetError` for unknown titles.
    """
    draw = Random(seed)
    if file.suffix == ".json":
        return _squad_tasks(file, limit, depth, draw, articles)
    if articles:
        raise DatasetError(f"{file} is not in SQuAD's format, so articles of it cannot be chosen.")
    return _own_tasks(file, limit, draw)


def _squad_tasks(
    file: Path, limit: int, depth: int, draw: Random, articles: Sequence[str]
) -> list[ReadingTask]:
    """Search all paragraphs of the file for each question, and keep the best `depth`."""
    rows = list(squad_rows(file))
    if articles:
        titles = match_titles(articles, list(dict.fromkeys(row.title for row in rows)))
        rows = [row for row in rows if row.title in titles]
    paragraphs = sorted({(row.title, row.passage) for row in rows})
    search = Bm25([f"{title}\n{text}" for title, text in paragraphs])
    answers: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        answers[row.passage].update(row.passage[start:end] for start, end in row.spans[:1])
    tasks = []
    for row in draw.sample(rows, min(limit, len(rows))):
        best = [paragraphs[place] for place in search.best(f"{row.subject} {row.question}", depth)]
        golds = tuple(row.passage[start:end] for start, end in row.spans)
        others = {answer for _, text in best for answer in answers[text]} - set(golds)
        passages = tuple(Passage(chunk, title) for title, text in best for chunk in chunk_text(text))
        subject = row.subject or None
        tasks.append(ReadingTask(row.question, subject, golds, passages, tuple(sorted(others)), file.stem))
    return tasks


def _own_tasks(file: Path, limit: int, draw: Random) -> list[ReadingTask]:
    content = file.read_bytes()
    lines = (gzip.decompress(content) if file.suffix == ".gz" else content).splitlines()
    entries: list[dict[str, Any]] = [json.loads(line) for line in lines]
    answers: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        answers[_thing(entry)].update(answer for each in questions_of(entry) for answer in each.accepted[:1])
    draw.shuffle(entries)
    tasks = [task for entry in entries for task in _tasks_of(entry, answers[_thing(entry)], file.stem, draw)]
    return tasks[:limit]


def _tasks_of(entry: dict[str, Any], answers: set[str], source: str, draw: Random) -> Iterator[ReadingTask]:
    questions = list(questions_of(entry))
    passages = tuple(chunk for each in passages_of(entry) for chunk in _chunks(each))
    for each in draw.sample(questions, min(_QUESTIONS_EACH, len(questions))):
        others = tuple(sorted(answers - set(each.accepted)))
        yield ReadingTask(each.text, each.subject or None, each.accepted, passages, others, source)


def _chunks(entry: dict[str, Any]) -> Iterator[Passage]:
    """Yield a passage in chunks, as the gateway sends pages to the reader."""
    kinds = {kind.value: kind for kind in PassageKind}
    kind = kinds.get(entry.get("kind", ""), PassageKind.PAGE)
    for text in chunk_text(entry["text"]) if kind is PassageKind.PAGE else [entry["text"]]:
        yield Passage(text, entry.get("title") or "", kind)


def _thing(entry: dict[str, Any]) -> str:
    return entry.get("subject") or str(passages_of(entry)[0]["text"])


def find_passage(passages: Sequence[Passage], answer: str) -> Passage | None:
    """Return the first passage that has the answer as whole words."""
    return next((each for each in passages if any(True for _ in places(each.text, [answer]))), None)
