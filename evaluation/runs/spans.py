"""A run on questions whose golds are stretches of a text, in one table for a terminal."""

import math

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.scoring.spans import Outcomes, SpanScores

_LEGEND = (
    "questions: answerable + unanswerable; right, wrong, not known: of the answerable; unans. answered: of "
    "the others; EM, F1: of all, by SQuAD's definition; words: of the median answer"
)
_OUTCOMES = ("right", "wrong", "not known", "unans. answered")


def print_spans(name: str, scores: SpanScores, console: Console) -> None:
    """The outcomes, SQuAD's figures, and how long answers are and take."""
    table = outcome_table(name, "questions")
    for heading in ("EM", "F1", "words", "p95"):
        table.add_column(heading, justify="right", no_wrap=True)
    found = scores.outcomes
    table.add_row(
        f"{found.answerable} + {found.unanswerable}",
        *outcome_cells(found),
        *(_percent(share) for share in (scores.exact, scores.f1)),
        _number(scores.words_median),
        f"{_number(scores.p95_ms)} ms",
    )
    console.print(table)
    shares = {"HasAns EM": scores.has_exact, "F1": scores.has_f1, "NoAns": scores.no_answer}
    summary = ", ".join(f"{name} {_percent(share)}" for name, share in shares.items())
    summary += f"; the answer or the closest passage holds a gold answer: {_percent(scores.held)}"
    summary += f"; an answer in ten is longer than {_number(scores.words_p90)} words"
    console.print(summary, highlight=False, markup=False)
    console.print(_LEGEND, style="dim", soft_wrap=True)


def outcome_table(title: str, first: str) -> Table:
    """A table of outcomes whose first column has that heading; columns may be added to its right."""
    table = Table(
        title=escape(title), title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0)
    )
    table.add_column(first, no_wrap=True)
    for heading in _OUTCOMES:
        table.add_column(heading, justify="right")
    return table


def outcome_cells(found: Outcomes) -> list[str]:
    """The cells below the outcomes' headings."""
    return [_percent(share) for share in (found.right, found.wrong, found.not_known, found.answered)]


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.1f} %"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0f}"
