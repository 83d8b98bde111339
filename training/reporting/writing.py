"""The report as one file: figures are inside, and there is no script."""

import base64
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from training.pages import page
from training.reporting.content import RunShown
from training.samples import replace_text

REPORT = "report.html"


def write_report(runs: Sequence[RunShown], judge: str, path: Path) -> None:
    """Whole or not at all."""
    encoded = {run.name: base64.b64encode(run.plot).decode("ascii") for run in runs if run.plot}
    plots = {name: Markup(each) for name, each in encoded.items()}
    replace_text(path, page("training.html.j2", {"runs": runs, "judge": judge, "plots": plots}))
