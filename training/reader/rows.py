"""Rows that the reader learns from: a question, a passage, and where the passage answers it.

Files are JSON lines (also gzipped) with `question`, `context`, `spans`, `sentence`, `unanswerable`, `article`
and `group`, or JSON in the format of SQuAD 1.1 or 2.0 (Rajpurkar et al., 2016 and 2018).
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from training.reader.bm25 import Bm25

_NEAR = 6
"""Passages of a search, of which one is taken."""

SpanPlace = tuple[int, int]
"""Character offsets, end exclusive."""


@dataclass(frozen=True, slots=True)
class Row:
    """A question beside one passage.

    `spans`: every place that answers. `sentence`: where only the sentence is known that answers. Without
    either, the passage does not answer. `subject`: the name of the thing that "this" in the question means.
    """

    question: str
    passage: str
    spans: tuple[SpanPlace, ...] = ()
    sentence: SpanPlace | None = None
    title: str = ""
    subject: str = ""
    source: str = ""

    @property
    def has_answer(self) -> bool:
        """Whether the passage answers the question."""
        return bool(self.spans) or self.sentence is not None


@dataclass(frozen=True, slots=True)
class Question:
    """`subject`: the name of what "this" stands for, or empty. `accepted`: the answers; empty if none is."""

    text: str
    subject: str
    accepted: tuple[str, ...]


def read_rows(files: Sequence[Path], held_out: frozenset[str] = frozenset()) -> list[Row]:
    """Return the rows of all files, without those of the articles in `held_out`."""
    return [row for file in files for row in _rows_of(file, held_out)]


def _rows_of(file: Path, held_out: frozenset[str]) -> Iterator[Row]:
    source = file.name.split(".")[0]
    if file.suffix == ".json":
        yield from squad_rows(file, held_out)
        return
    content = file.read_bytes()
    for line in (gzip.decompress(content) if file.suffix == ".gz" else content).splitlines():
        entry = json.loads(line)
        if "passages" in entry or "questions" in entry:
            yield from _own_rows(entry, source)
        elif entry["article"] not in held_out:
            yield _row(entry, source)


def _row(entry: dict[str, Any], source: str) -> Row:
    spans = tuple((start, end) for start, end in entry["spans"])
    sentence = tuple(entry["sentence"]) if entry["sentence"] and not spans else None
    article = entry["article"].replace("_", " ") if source.startswith(("squad", "xquad")) else ""
    return Row(entry["question"], entry["context"], spans, sentence, title=article, source=source)


def squad_rows(file: Path, held_out: frozenset[str] = frozenset()) -> Iterator[Row]:
    """Yield the rows of a file in SQuAD's format; a question may have a `subject` besides."""
    for article in json.loads(file.read_text("utf-8"))["data"]:
        if article["title"] in held_out:
            continue
        for paragraph in article["paragraphs"]:
            for entry in paragraph["qas"]:
                spans = {
                    (answer["answer_start"], answer["answer_start"] + len(answer["text"]))
                    for answer in entry["answers"]
                }
                answerable = not entry.get("is_impossible", False)
                yield Row(
                    entry["question"],
                    paragraph["context"],
                    tuple(sorted(spans)) if answerable else (),
                    title=article["title"].replace("_", " "),
                    subject=entry.get("subject", ""),
                    source="squad",
                )


def _own_rows(entry: dict[str, Any], source: str) -> Iterator[Row]:
    """Yield the rows of a scene (passages and questions), of a question with its passages, or of a text."""
    for each in questions_of(entry):
        for passage in passages_of(entry):
            is_page = passage.get("kind", "page") == "page"
            yield Row(
                each.text,
                passage["text"],
                tuple(places(passage["text"], each.accepted)),
                title=(passage.get("title") or "") if is_page else "",
                subject=each.subject,
                source=source,
            )


def passages_of(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the passages of an entry, or the one that it is."""
    return [entry] if "text" in entry else entry["passages"]


def questions_of(entry: dict[str, Any]) -> Iterator[Question]:
    """Yield the questions of an entry, or the one that it is."""
    for each in entry.get("questions", [entry]):
        yield Question(
            each.get("question") or each["q"],
            each.get("subject") or entry.get("subject") or "",
            tuple(each.get("answers", each.get("a", []))),
        )


def places(text: str, accepted: Sequence[str]) -> Iterator[SpanPlace]:
    """Yield where the accepted answers stand in a text as whole words."""
    folded = text.casefold()
    if len(folded) != len(text):
        folded = text
    for answer in accepted:
        start = folded.find(answer.casefold())
        while answer and start >= 0:
            end = start + len(answer)
            if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
                yield start, end
            start = folded.find(answer.casefold(), end)


def near_misses(rows: Sequence[Row], share: float, draw: Random) -> Iterator[Row]:
    """Yield, for a share of the questions, the question beside a passage that only looks like an answer.

    It is none of the passages that the question has among `rows`, and holds none of its answers.
    """
    golds: dict[tuple[str, str], set[str]] = defaultdict(set)
    beside: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        if row.title and row.sentence is None:
            beside[row.question, row.subject].add(row.passage)
            golds[row.question, row.subject] |= {row.passage[start:end] for start, end in row.spans}
    passages = sorted({(row.title, row.passage) for row in rows if row.title})
    if not share or not passages:
        return
    search = Bm25([f"{title}\n{text}" for title, text in passages])
    for question, subject in draw.sample(sorted(golds), int(len(golds) * share)):
        answers, known = sorted(golds[question, subject]), beside[question, subject]
        best = (passages[place] for place in search.best(f"{subject} {question}", _NEAR))
        near = [
            each for each in best if each[1] not in known and not any(True for _ in places(each[1], answers))
        ]
        if near:
            title, text = draw.choice(near)
            yield Row(question, text, title=title, subject=subject, source="near-misses")
