"""Labels that people gave to answers."""

import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path

from evaluation.data.model import EvaluationError, Rejected
from evaluation.judging.verdicts import Judgement, Verdict

_LABELS = {
    "perfect": Verdict.CORRECT,
    "acceptable": Verdict.ACCEPTABLE,
    "missing": Verdict.MISSING,
    "incorrect": Verdict.INCORRECT,
}
_ID, _LABEL = "interaction_id", "label"


class LabelsError(EvaluationError):
    """The file of labels cannot be read at all; the message says why."""


def read_labels(path: Path, known: Collection[str]) -> tuple[dict[str, Judgement], list[Rejected]]:
    """Judgements by interaction id, from CSV with a heading, and the rows that cannot be used
    (`malformed_row`, `unknown_label`, `unknown_interaction`, `repeated_interaction`).

    `known`: the interactions that there are. Raises `LabelsError`.
    """
    judgements: dict[str, Judgement] = {}
    rejected: list[Rejected] = []
    for where, row in _label_rows(path):
        name, label = (row.get(_ID) or "").strip(), (row.get(_LABEL) or "").strip().lower()
        verdict = _LABELS.get(label)
        if not name or not label:
            rejected.append(Rejected("malformed_row", where, f"a row needs {_ID} and {_LABEL}"))
        elif verdict is None:
            why = f"{label[:80]!r} is none of {', '.join(_LABELS)}"
            rejected.append(Rejected("unknown_label", where, why))
        elif name not in known:
            why = f"{name[:80]!r} was not asked in this run"
            rejected.append(Rejected("unknown_interaction", where, why))
        elif name in judgements:
            rejected.append(Rejected("repeated_interaction", where, f"{name[:80]!r} has a label already"))
        else:
            judgements[name] = Judgement(verdict, f"a person: {label}")
    return judgements, rejected


def _label_rows(path: Path) -> Iterator[tuple[str, dict[str, str | None]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelsError(f"{path} cannot be read as text") from error
    rows = csv.DictReader(io.StringIO(text, newline=""))
    rows.fieldnames = [heading.strip().lower() for heading in rows.fieldnames or ()]
    if not {_ID, _LABEL} <= set(rows.fieldnames):
        raise LabelsError(f"{path.name} needs the columns {_ID} and {_LABEL} in its first line")
    try:
        for row in rows:
            yield f"{path.name}, line {rows.line_num}", row
    except csv.Error as error:
        raise LabelsError(f"{path.name}, line {rows.line_num}: {error}") from error
