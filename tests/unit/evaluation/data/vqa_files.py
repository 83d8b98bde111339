"""Small files in the published shapes of InfoSeek, E-VQA and OK-VQA, with photos."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.unit.chassis.picture_hosts import picture

SEEK: tuple[dict[str, Any], ...] = (
    {
        "data_id": "infoseek_val_00000000",
        "image_id": "oven_04990048",
        "question": "Who designed it?",
        "answer": ["Edda Marr"],
        "answer_eval": ["Edda Marr", "E. Marr"],
        "data_split": "val_unseen_question",
    },
    {
        "data_id": "infoseek_val_00000001",
        "image_id": "oven_05072023",
        "question": "How long is it in metres?",
        "answer": ["120"],
        "answer_eval": [{"wikidata": 120.0, "range": [108.0, 132.0]}],
        "data_split": "val_unseen_entity",
    },
)
SEEK_TYPES = {"infoseek_val_00000000": "String", "infoseek_val_00000001": "Numerical"}
EVQA: tuple[dict[str, str], ...] = (
    {
        "question": "What does this animal eat?",
        "answer": "moss&&bark|lichen",
        "dataset_image_ids": "2700001|2700002",
        "dataset_name": "inaturalist",
        "question_type": "multi_answer",
        "wikipedia_url": "https://en.wikipedia.org/wiki/Moss_hare",
        "wikipedia_title": "Moss hare",
    },
    {
        "question": "When was the town of the architect founded?",
        "answer": "1181",
        "dataset_image_ids": "f00dcafe",
        "dataset_name": "landmarks",
        "question_type": "2_hop",
        "wikipedia_url": "https://en.wikipedia.org/wiki/Harl_Tower|https://en.wikipedia.org/wiki/Lisk",
        "wikipedia_title": "Harl Tower|Lisk",
    },
)
OK_ANSWERS = ("racing", "racing", "racing", "race", "race", "motocross", "ride", "ride", "ride", "ride")


def put_photos(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(picture())


def infoseek(folder: Path, rows: Iterable[Mapping[str, Any] | str] = SEEK) -> str:
    """The source's name; the types of answers and the names of things lie beside the file."""
    types = [{"data_id": name, "question_type": kind} for name, kind in SEEK_TYPES.items()]
    names = [{"data_id": "infoseek_val_00000000", "entity_text": "Harl Bridge"}]
    for ending, given in (("", rows), ("_qtype", types), ("_withkb", names)):
        lines = [each if isinstance(each, str) else json.dumps(each) for each in given]
        (folder / f"infoseek_val{ending}.jsonl").write_text("\n".join(lines) + "\n")
    put_photos(folder / "images", "04/oven_04990048.jpg", "05/oven_05072023.JPEG")
    return f"infoseek:{folder / 'infoseek_val.jsonl'}"


def evqa(folder: Path, rows: Iterable[Mapping[str, str]] = EVQA) -> str:
    with (folder / "test.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, EVQA[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    (folder / "val_id2name.json").write_text(json.dumps({"2700001": "val/04_Moss_hare/ab-cd.jpg"}))
    put_photos(folder, "inat/val/04_Moss_hare/ab-cd.jpg", "gld/f/0/0/f00dcafe.jpg")
    return f"evqa:{folder / 'test.csv'}"


def okvqa(folder: Path) -> str:
    question = {"image_id": 42, "question": "What sport is this?", "question_id": 420}
    answers = [{"answer": each, "raw_answer": each} for each in OK_ANSWERS]
    note = {"image_id": 42, "question_id": 420, "question_type": "four", "answers": answers}
    questions = folder / "OpenEnded_mscoco_val2014_questions.json"
    listed = [question, {"question": "?"}, {**question, "question_id": [420]}]
    questions.write_text(json.dumps({"data_subtype": "val2014", "questions": listed}))
    notes = {"annotations": [note], "question_types": {"four": "Sports and Recreation"}}
    (folder / "mscoco_val2014_annotations.json").write_text(json.dumps(notes))
    put_photos(folder, "val2014/COCO_val2014_000000000042.jpg")
    return f"okvqa:{questions}"
