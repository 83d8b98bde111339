"""Write tiny datasets in CRAG-MM's formats."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from tests.unit.chassis.picture_hosts import picture

Row = dict[str, Any]
SINGLE_NAMES: Mapping[str, Sequence[str]] = {
    "domain": ("other", "book", "food"),
    "query_category": ("reasoning", "simple-recognition"),
    "dynamism": ("static", "real-time"),
    "image_quality": ("normal", "low light"),
}
MULTI_NAMES: Mapping[str, Sequence[str]] = {
    "domain": ("book", "food", "other"),
    "query_category": ("simple-recognition", "multi-hop"),
    "dynamism": ("real-time", "static"),
    "image_quality": ("blurred", "normal"),
}
"""The codes of two datasets mean different things."""


def turn(interaction_id: str, query: str = "who wrote this?", **labels: Any) -> Row:
    """A turn with code 1 for each label unless told otherwise."""
    codes = {"domain": 1, "query_category": 1, "dynamism": 1, "image_quality": 1, **labels}
    return {"interaction_id": interaction_id, "query": query, **codes}


def answer(interaction_id: str, gold: str = "Mira Holm wrote it.") -> Row:
    return {"interaction_id": interaction_id, "ans_full": gold}


def row(session_id: str, *turns: Row, image: Any = None, image_url: str | None = None, **more: Any) -> Row:
    """A v0.1.1 row: lists of dicts. One turn, with a teal photo, unless told otherwise."""
    questions = list(turns) or [turn(f"{session_id}.0")]
    given = {"bytes": picture(), "path": None} if image is None and image_url is None else image
    answers = [answer(each["interaction_id"]) for each in questions]
    return {
        "session_id": session_id,
        "image": given,
        "image_url": image_url,
        "turns": questions,
        "answers": answers,
        **more,
    }


def columns(of: Row) -> Row:
    """The same row as v0.1.2 has it: dicts of columns."""
    parts = ("turns", "answers")
    return of | {part: {key: [each[key] for each in of[part]] for key in of[part][0]} for part in parts}


def features(names: Mapping[str, Sequence[str]], *, as_columns: bool) -> Row:
    """The description of features as the `datasets` library writes it."""
    word = {"dtype": "string", "_type": "Value"}
    labels = {key: {"names": list(value), "_type": "ClassLabel"} for key, value in names.items()}
    turns: Any = {"interaction_id": word, "query": word, **labels}
    answers: Any = {"interaction_id": word, "ans_full": word}
    if as_columns:
        turns, answers = ({"feature": each, "_type": "Sequence"} for each in (turns, answers))
    else:
        turns, answers = [turns], [answers]
    image = {"_type": "Image"}
    return {"session_id": word, "image": image, "image_url": word, "turns": turns, "answers": answers}


def write_parquet(path: Path, rows: Sequence[Row], names: Mapping[str, Sequence[str]]) -> Path:
    """v0.1.2 (columns) or v0.1.1 by the rows' own shape; three rows a row group."""
    described = {"info": {"features": features(names, as_columns=isinstance(rows[0]["turns"], dict))}}
    metadata = {"huggingface": json.dumps(described)}
    table = pyarrow.Table.from_pylist(list(rows)).replace_schema_metadata(metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(table, path, row_group_size=3)
    return path


METADATA = {
    "target_roi_bbox": [10, 20, 60, 120],
    "image_size": [100, 200],
    "target_object_name": "Salt Road",
    "textual_only_question": "Who wrote Salt Road?",
    "referring_expression_category": "not enough cue (ambiguous)",
}


def diagnostics(folder: Path, **metadata: Any) -> str:
    """A file of rows about the ids that are given."""
    rows = [
        {"id": key.replace("_", "."), "question": "?", "metadata": value} for key, value in metadata.items()
    ]
    path = folder / "test-00000-of-00001.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return str(path)
