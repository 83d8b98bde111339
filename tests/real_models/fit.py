"""`python -m tests.real_models.fit FOLDER...`: fit the weights of `gateway/steps/answer_check.py`.

FOLDERs are those of `make test-real-models`, made with other questions than the ones that are reported. The
answers that the platform had in hand count, given or not; the rule judge says which are right.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.port import Verdict
from evaluation.judging.rules import judge
from gateway.steps.answer_check import FEATURES, WEIGHTS, log_odds
from tests.real_models.comparison import Row, RowFile

PRIOR_RIGHT = 3 / 4
"""Of the answers in use. Of these questions 40 % were written to fool a reader, which people seldom do."""
_REGULARISED = 1.0
_FOLDS = 5

app = typer.Typer(add_completion=False)


@app.command()
def main(folders: Annotated[list[Path], typer.Argument(help="of comparisons", exists=True)]) -> None:
    """Fit, print how well it tells right from wrong on folds that it has not seen, and write the weights."""
    rows = [row for folder in folders for row in RowFile(folder / "rows.jsonl").read() if _is_answer(row)]
    measured = np.array([_features(row) for row in rows])
    means = np.nanmean(measured, axis=0)
    filled = np.where(np.isnan(measured), means, measured)
    right = np.array([_is_right(row) for row in rows])
    model = LogisticRegression(C=_REGULARISED)
    unseen = cross_val_predict(model, filled, right, cv=_FOLDS, method="predict_proba")[:, 1]
    typer.echo(f"{len(rows)} answers, {right.sum()} of them right. Area under ROC, unseen folds:")
    typer.echo(f"  all together {roc_auc_score(right, unseen):.3f}")
    for place, name in enumerate(FEATURES):
        typer.echo(f"  {name} alone {roc_auc_score(right, filled[:, place]):.3f}")
    shift = _odds(PRIOR_RIGHT) - _odds(right.mean())
    _print_cuts(rows, right, 1 / (1 + np.exp(-np.log(unseen / (1 - unseen)) - shift)))
    model.fit(filled, right)
    weights = {
        "intercept": round(float(model.intercept_[0]) + shift, 4),
        "coefficients": dict(zip(FEATURES, (round(float(each), 4) for each in model.coef_[0]), strict=True)),
        "means": dict(zip(FEATURES, (round(float(each), 4) for each in means), strict=True)),
        "fitted_on": f"{len(rows)} answers of {', '.join(folder.parent.name for folder in folders)}",
    }
    WEIGHTS.write_text(json.dumps(weights, indent=2) + "\n", "utf-8")
    typer.echo(f"written: {WEIGHTS}")


def _odds(share: float) -> float:
    return float(np.log(share / (1 - share)))


def _is_answer(row: Row) -> bool:
    return row.system == "loreglass" and bool(row.proposed) and "reader_best" in row.signals


def _features(row: Row) -> list[float]:
    return [log_odds(row.signals[name]) if name in row.signals else np.nan for name in FEATURES]


def _is_right(row: Row) -> bool:
    if not row.answerable:
        return False
    truth = Truth(interaction_id=row.id, answer_type=AnswerType.SPAN, accepted=tuple(row.gold))
    return judge(row.proposed, truth, row.question, row.gold[0]).verdict is Verdict.CORRECT


def _print_cuts(rows: Sequence[Row], right: "np.ndarray", probability: "np.ndarray") -> None:
    answerable = np.array([row.answerable for row in rows])
    typer.echo("  cut   right   wrong   unanswerable answered")
    for cut in (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7):
        given = probability >= cut
        counts = (right & given, ~right & given & answerable, given & ~answerable)
        typer.echo(f"  {cut:.2f}" + "".join(f"{int(each.sum()):8d}" for each in counts))


if __name__ == "__main__":
    app()
