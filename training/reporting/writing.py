"""The report as one file: figures are inside, and there is no script."""

from collections.abc import Sequence
from pathlib import Path

from training.pages import page
from training.reporting.content import RunShown
from training.samples import UnreadableData, replace_text

REPORT = "report.html"


def write_report(runs: Sequence[RunShown], judge: str, path: Path) -> None:
    """Whole or not at all. Raises `UnreadableData` where nothing can be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableData(f"{path} cannot be written: {error.strerror}.") from error
    replace_text(path, page("training.html.j2", {"runs": runs, "judge": judge}))
