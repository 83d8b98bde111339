"""`loreglass eval`: ask, judge, compare, calibrate, ablate.

Each command imports its libraries when it runs, because pandas and the clients of models load slowly.
"""

import typer

from evaluation.commands.ablate import ablate
from evaluation.commands.calibrate import calibrate
from evaluation.commands.judge import agreement_of, gold, judge_run
from evaluation.commands.report import report, squad
from evaluation.commands.run import run

app = typer.Typer(no_args_is_help=True, add_completion=False)

app.command("run")(run)
app.command("judge")(judge_run)
app.command("agreement")(agreement_of)
app.command("gold")(gold)
app.command("report")(report)
app.command("squad")(squad)
app.command("calibrate")(calibrate)
app.command("ablate")(ablate)


@app.callback()
def root() -> None:
    """Measure Loreglass and the published systems side by side, by CRAG-MM's rules."""
