"""People's labels on CRAG-MM's scale of four: perfect, acceptable, missing, incorrect (appendix B.2)."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from evaluation.data.model import Rejected
from evaluation.judging.port import Judgement, Verdict

HUMAN = "human"

OnRejected = Callable[[Rejected], None]

_LABELS = {
    "perfect": Verdict.CORRECT,
    "acceptable": Verdict.ACCEPTABLE,
    "missing": Verdict.MISSING,
    "incorrect": Verdict.INCORRECT,
}
_ID, _LABEL = "interaction_id", "label"


class LabelsError(Exception):
    """The file of labels cannot be read at all; the message says why."""


def read_human(
    path: Path, known: Collection[str] | None = None, on_rejected: OnRejected | None = None
) -> dict[str, Judgement]:
    """Judgements by interaction id, from CSV with a heading or from JSON lines, by the file's name.

    `known`: the interactions that there are. Rows that cannot be used are told to `on_rejected`
    (`malformed_row`, `unknown_label`, `unknown_interaction`, `repeated_interaction`). Raises `LabelsError`.
    """
    judgements: dict[str, Judgement] = {}

    def reject(kind: str, where: str, why: str) -> None:
        if on_rejected is not None:
            on_rejected(Rejected(kind, where, why))

    for where, row in _rows(path):
        interaction_id, label = row.get(_ID), row.get(_LABEL)
        if not isinstance(interaction_id, str) or not isinstance(label, str) or not interaction_id.strip():
            reject("malformed_row", where, f"a row needs {_ID} and {_LABEL}")
            continue
        name = interaction_id.strip()
        verdict = _LABELS.get(label.strip().lower())
        if verdict is None:
            reject("unknown_label", where, f"{label[:80]!r} is none of {', '.join(_LABELS)}")
        elif known is not None and name not in known:
            reject("unknown_interaction", where, f"{name[:80]!r} was not asked in this run")
        elif name in judgements:
            reject("repeated_interaction", where, f"{name[:80]!r} has a label already")
        else:
            judgements[name] = Judgement(verdict, f"a person: {label.strip().lower()}")
    return judgements


def _rows(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelsError(f"{path} cannot be read as text") from error
    if path.suffix.lower() == ".csv":
        yield from _csv_rows(path, text)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (json.JSONDecodeError, RecursionError):
                row = {}
            yield f"{path.name}, line {number}", row if isinstance(row, dict) else {}


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, object]]]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    headings = [(heading or "").strip().lower() for heading in rows.fieldnames or ()]
    if _ID not in headings or _LABEL not in headings:
        raise LabelsError(f"{path.name} needs the columns {_ID} and {_LABEL} in its first line")
    try:
        for row in rows:
            named: dict[str, object] = {(key or "").strip().lower(): value for key, value in row.items()}
            yield f"{path.name}, line {rows.line_num}", named
    except csv.Error as error:
        raise LabelsError(f"{path.name}, line {rows.line_num}: {error}") from error
