"""Labels that people gave to answers."""

import csv
import io
from collections.abc import Collection
from pathlib import Path

from evaluation.data.model import EvaluationError
from evaluation.judging.verdicts import Judgement, Verdict

_LABELS = {
    "perfect": Verdict.CORRECT,
    "acceptable": Verdict.ACCEPTABLE,
    "missing": Verdict.MISSING,
    "incorrect": Verdict.INCORRECT,
}
_ID, _LABEL = "interaction_id", "label"


class LabelsError(EvaluationError):
    """The file of labels cannot be read; the message names the line and says why."""


def read_labels(path: Path, asked: Collection[str]) -> dict[str, Judgement]:
    """Return judgements by interaction id, from CSV with a heading. `asked`: the interactions of the run.

    Raises `LabelsError`, also for a single row that does not fit.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelsError(f"{path} cannot be read as text.") from error
    rows = csv.DictReader(io.StringIO(text, newline=""))
    rows.fieldnames = [heading.strip().lower() for heading in rows.fieldnames or ()]
    if not {_ID, _LABEL} <= set(rows.fieldnames):
        raise LabelsError(f"{path.name} needs the columns {_ID} and {_LABEL} in its first line.")
    judgements: dict[str, Judgement] = {}
    try:
        for row in rows:
            name, label = (row[_ID] or "").strip(), (row[_LABEL] or "").strip().lower()
            if label not in _LABELS:
                raise csv.Error(f"{label[:80]!r} is none of {', '.join(_LABELS)}")
            if name not in asked or name in judgements:
                raise csv.Error(f"{name[:80]!r} was not asked in this run, or has a label already")
            judgements[name] = Judgement(_LABELS[label], f"a person: {label}")
    except csv.Error as error:
        raise LabelsError(f"{path.name}, line {rows.line_num}: {error}.") from error
    return judgements
