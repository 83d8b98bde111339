"""InfoSeek, E-VQA and OK-VQA from their published files, with photos by id from a folder.

InfoSeek (Chen et al. 2023): `infoseek_val.jsonl`, with `_qtype` and `_withkb` beside it where they are there.
E-VQA (Mensink et al. 2023): `test.csv`. OK-VQA (Marino et al. 2019): the questions in VQA's format, with the
annotations beside them. Photos are looked for in `images` beside the file if that is there, else in the
file's folder, at any depth; iNaturalist's ids need EchoSight's `…id2name.json` beside the file.
"""

import csv
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

from evaluation.data.model import AnswerType, AskedTurn, Part, Scorer, Truth
from evaluation.data.rows import (
    LONGEST_LINE,
    BadRow,
    Candidate,
    Candidates,
    UnreadableFile,
    identifier,
    json_lines,
    photo_inside,
    text,
)

TOLERANCE = 0.1
"""InfoSeek takes a number that is this share away from the gold, where its file gives no range."""
_LARGEST_JSON = 512 * 2**20
_MOST_ANSWERS = 100
_PHOTO_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})
_UNSEEN = ("unseen_question", "unseen_entity")
_QUESTION_TYPES = ("templated", "automatic", "multi_answer", "2_hop")

Row = Mapping[str, Any]


def read_vqa(kind: str, path: Path) -> Candidates[str]:
    """Return a file's questions in its order. Raises `UnreadableFile`."""
    rows = Candidates[str]()
    for place, make in READERS[kind](path):
        with rows.rejecting(place):
            photo, turn = make()
            rows.add(Candidate(turn.interaction_id, Part.SINGLE, photo, (turn,), (place,)))
    return rows


def photos_by_name(path: Path, names: Iterable[str]) -> Callable[[str], Path]:
    """Return what finds the photos of a file's questions; it raises `BadRow`."""
    folder = path.parent / "images" if (path.parent / "images").is_dir() else path.parent
    paths = _photos(folder, set(names))

    @cache  # several questions are about one photo
    def find(name: str) -> Path:
        if name not in paths:
            raise BadRow("missing_image", f"There is no photo {name[:100]!r} in {folder.name}.")
        return photo_inside(folder, paths[name])

    return find


def _photos(folder: Path, names: set[str]) -> dict[str, str]:
    paths: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        folders.sort()
        for file in files:
            name, suffix = os.path.splitext(file)
            if name in names and suffix.lower() in _PHOTO_SUFFIXES:
                paths.setdefault(name, os.path.relpath(os.path.join(place, file), folder))
    return paths


_Made = tuple[str, AskedTurn]
_Rows = Iterator[tuple[str, Callable[[], _Made]]]


def _infoseek(path: Path) -> _Rows:
    types = _beside(path, "_qtype", "question_type")
    names = _beside(path, "_withkb", "entity_text")
    for number, row in json_lines(path):
        yield f"{path.name}, line {number + 1}", partial(_infoseek_question, row, types, names)


def _infoseek_question(row: Row | BadRow, types: Mapping[str, str], names: Mapping[str, str]) -> _Made:
    if isinstance(row, BadRow):
        raise row
    name, split = identifier(row, "data_id"), str(row.get("data_split", ""))[:100]
    kind = types.get(name, "").casefold()
    answers = _answers(row.get("answer") or [])
    limits = _range(row.get("answer_eval") or row.get("answer"), kind == "numerical")
    accepted = answers if limits else _answers(row.get("answer_eval") or answers)
    truth = Truth(
        interaction_id=name,
        answer_type=AnswerType.NUMBER if limits else AnswerType.DATE if kind == "time" else AnswerType.NAME,
        accepted=accepted,
        photographed=names.get(name, ""),
        scorer=Scorer.INFOSEEK,
        range=limits,
    )
    turn = AskedTurn(
        interaction_id=name,
        question=text(row, "question", if_empty="empty_question"),
        gold=next(iter(answers or accepted), ""),
        domain=kind,
        query_category=next((each for each in _UNSEEN if split.endswith(each)), split),
        truth=truth if accepted or limits else None,
    )
    return identifier(row, "image_id"), turn


def _range(given: Any, numerical: bool) -> tuple[float, float] | None:
    """Return the lowest and highest right number: the file's range, or a tenth to either side of its number.

    None if the answer is no number.
    """
    first = given[0] if isinstance(given, list) and given else given
    if isinstance(first, dict):
        given = first.get("range", first.get("wikidata"))
    elif not numerical or not given:
        return None
    numbers = given if isinstance(given, list) else [given]
    try:
        low, *others = (float(each) for each in numbers[:2])
        if not others:
            margin = abs(low) * TOLERANCE
            low, others = low - margin, [low + margin]
        if not (math.isfinite(low) and math.isfinite(others[0])):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise BadRow("malformed_row", "answer_eval has no numbers.") from None
    return low, others[0]


def _beside(path: Path, ending: str, key: str) -> dict[str, str]:
    """Return a key's values by question from the file with that ending; empty if there is no such file."""
    file = path.with_name(f"{path.stem}{ending}.jsonl")
    if not file.is_file():
        return {}
    rows = (row for _, row in json_lines(file) if not isinstance(row, BadRow))
    return {str(row.get("data_id")): str(row.get(key, ""))[:200] for row in rows}


def _answers(given: Any) -> tuple[str, ...]:
    listed = given if isinstance(given, list | tuple) else [given]
    if len(listed) > _MOST_ANSWERS:
        raise BadRow("malformed_row", f"There are more than {_MOST_ANSWERS} answers.")
    spoken = (str(each) for each in listed if str(each).strip())
    return tuple(text({"answer": each}, "answer", if_empty="empty_answer") for each in spoken)


def _evqa(path: Path) -> _Rows:
    names = {}
    for file in sorted(path.parent.glob("*id2name.json")):
        names.update(_json(file))
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = iter(partial(stream.readline, LONGEST_LINE), "")
            for number, row in enumerate(csv.DictReader(lines)):
                yield f"{path.name}, row {number + 1}", partial(_evqa_question, row, number, names)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnreadableFile("It is not CSV in UTF-8.") from error


def _evqa_question(row: Row, number: int, files: Mapping[str, Any]) -> _Made:
    kind, name = row.get("question_type") or "", f"E-VQA_{number}"
    if kind not in _QUESTION_TYPES:
        raise BadRow("unknown_label", f"question_type is none of {', '.join(_QUESTION_TYPES)}.")
    accepted = _answers(text(row, "answer", if_empty="empty_answer").split("|"))
    if not accepted:
        raise BadRow("empty_answer", "answer has nothing but separators.")
    photo = text(row, "dataset_image_ids", if_empty="missing_image").split("|")[0]
    if row.get("dataset_name") == "inaturalist":
        photo = PurePosixPath(str(files.get(photo, photo))).stem
    truth = Truth(
        interaction_id=name,
        answer_type=AnswerType.SET if kind == "multi_answer" else AnswerType.NAME,
        accepted=accepted,
        photographed=(row.get("wikipedia_title") or "").split("|")[0],
        scorer=Scorer.EVQA,
    )
    turn = AskedTurn(
        interaction_id=name,
        question=text(row, "question", if_empty="empty_question"),
        gold=accepted[0].replace("&&", ", "),
        domain=(row.get("dataset_name") or "")[:100],
        query_category=kind,
        truth=truth,
    )
    return photo, turn


def _okvqa(path: Path) -> _Rows:
    published = _json(path)
    notes = _json(path.with_name(path.name.replace("OpenEnded_", "").replace("_questions", "_annotations")))
    topics = notes.get("question_types")
    notes_by_id = {str(each.get("question_id")): each for each in _objects(notes, "annotations")}
    photo = f"COCO_{published.get('data_subtype', '')}_"
    for number, row in enumerate(_objects(published, "questions")):
        make = partial(_okvqa_question, row, notes_by_id, photo, topics)
        yield f"{path.name}, question {number + 1}", make


def _okvqa_question(row: Row, notes: Mapping[str, Row], photo: str, topics: Any) -> _Made:
    if not isinstance(row.get("image_id"), int) or not isinstance(row.get("question_id"), int):
        raise BadRow("malformed_row", "image_id and question_id are not numbers.")
    name = str(row["question_id"])
    note = notes.get(name, {})
    topic = str(note.get("question_type", ""))
    accepted = _answers([each.get("answer", "") for each in _objects(note, "answers")])
    if not accepted:
        raise BadRow("empty_answer", "There are no answers in the annotations.")
    truth = Truth(interaction_id=name, answer_type=AnswerType.NAME, accepted=accepted, scorer=Scorer.OKVQA)
    turn = AskedTurn(
        interaction_id=name,
        question=text(row, "question", if_empty="empty_question"),
        gold=Counter(accepted).most_common(1)[0][0],
        domain=str(topics.get(topic, topic) if isinstance(topics, dict) else topic)[:100],
        truth=truth,
    )
    return f"{photo}{row['image_id']:012d}", turn


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise UnreadableFile(f"{path.name} is larger than {_LARGEST_JSON // 2**20} MiB.")
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFile(f"{path.name} cannot be read ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"{path.name} is not JSON in UTF-8.") from error
    if not isinstance(content, dict):
        raise UnreadableFile(f"{path.name} is not a JSON object.")
    return content


def _objects(content: Row, key: str) -> Iterable[Row]:
    listed = content.get(key)
    return (each for each in listed if isinstance(each, dict)) if isinstance(listed, list) else ()


READERS: Mapping[str, Callable[[Path], _Rows]] = {"infoseek": _infoseek, "evqa": _evqa, "okvqa": _okvqa}
"""By what a source begins with, as `infoseek:FILE`."""
