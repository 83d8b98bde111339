"""Progress and summary of a run, by the rule judge."""

import math
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.data.model import Part, Scorer
from evaluation.judging.rule_judge import RuleJudge
from evaluation.reporting.formatting import Unit, format_figure
from evaluation.runs.running import Made
from evaluation.scoring.measures import measure, scores_of
from evaluation.scoring.protocols import Protocol, Scored, score_records
from evaluation.scoring.spans import Outcomes, SpanScores, marked_questions, span_scores


def print_summary(made: Made, console: Console) -> None:
    """The scores by both protocols, or SQuAD's where the golds are stretches of a text; what was not asked
    or failed; and what this attempt added.
    """
    run = made.run
    scored, _ = score_records(run.records, run.folder, RuleJudge.name)
    if spans := marked_questions(scored):
        print_spans(run.header.name, span_scores(spans), console)
    else:
        console.print(_table(run.header.name, scored))
        _print_benchmark(scored, console)
    console.print("judged by rules; `eval judge` asks a model, `eval report` shows more", style="dim")
    _count(console, "rows that could not be asked", run.header.rejected)
    _count(console, "failed requests", run.failures)
    again = sum(record.asked_again for record in run.records)
    if again:
        console.print(f"turned away as overloaded, and asked again: {again}", highlight=False)
    if made.refused:
        console.print(
            "The gateway allows no experiments, so the answers came without explanations: there is no "
            "refusal curve, no evidence shown with failures, and nothing to calibrate on. "
            "LOREGLASS_GATEWAY_EXPERIMENTS=true on the gateway allows them.",
            style="yellow",
        )
    summary = f"{made.asked} asked now, {len(run.records)} in all: {run.folder}"
    console.print(summary, highlight=False, soft_wrap=True, markup=False)


def _table(name: str, scored: Sequence[Scored]) -> Table:
    table = _new_table(name)
    for heading in ("part", "protocol"):
        table.add_column(heading, no_wrap=True)
    for heading in ("n", "accuracy", "missing", "halluc.", "truthful", "session", "stopped"):
        table.add_column(heading, justify="right")
    for part in Part:
        of_part = [each for each in scored if each.record.part is part]
        for protocol in Protocol if of_part else ():
            scores = _cells(scores_of(of_part, protocol))
            table.add_row(part.value, protocol.value, str(len(of_part)), *scores)
    return table


def _print_benchmark(scored: Sequence[Scored], console: Console) -> None:
    """Print the score of InfoSeek, E-VQA or OK-VQA if the questions are theirs."""
    names = {"benchmark_score": "the benchmark's own score", "harmonic_score": "harmonic mean of both splits"}
    scores = {label: measure(name, Protocol.KDD_CUP_2025).of(scored) for name, label in names.items()}
    if shares := [
        f"{label} {format_figure(share, Unit.SHARE)}"
        for label, share in scores.items()
        if not math.isnan(share)
    ]:
        exact = any(each.record.truth and each.record.truth.scorer is Scorer.EVQA for each in scored)
        hint = "; exact match alone, `eval judge --judge bem` adds BEM" if exact else ""
        console.print(", ".join(shares) + hint, highlight=False, markup=False, soft_wrap=True)


def _cells(scores: Mapping[str, float]) -> list[str]:
    stopped = scores["early_stopped"]
    return [
        *(f"{scores[name]:.1%}" for name in ("accuracy", "missing", "hallucination")),
        f"{scores['truthfulness']:+.3f}",
        f"{scores['session_truthfulness']:+.3f}",
        "" if math.isnan(stopped) else f"{stopped:.1%}",
    ]


def _count(console: Console, label: str, counts: Mapping[str, int]) -> None:
    text = ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
    console.print(f"{label}: {text}", highlight=False, markup=False)


_LEGEND = (
    "questions: answerable + unanswerable; right, wrong, not known: of the answerable; unans. answered: of "
    "the others; EM, F1: of all, by SQuAD's definition; words: of the median answer"
)
_OUTCOMES = ("right", "wrong", "not known", "unans. answered")


def print_spans(name: str, scores: SpanScores, console: Console) -> None:
    """Print the outcomes, SQuAD's figures, and the length and time of answers."""
    table = outcome_table(name, "questions")
    for heading in ("EM", "F1", "words", "p95"):
        table.add_column(heading, justify="right", no_wrap=True)
    outcomes = scores.outcomes
    table.add_row(
        f"{outcomes.answerable} + {outcomes.unanswerable}",
        *outcome_cells(outcomes),
        *(format_figure(share, Unit.SHARE) for share in (scores.exact, scores.f1)),
        format_figure(scores.words_median, Unit.COUNT),
        f"{format_figure(scores.p95_ms, Unit.COUNT)} ms",
    )
    console.print(table)
    shares = {"HasAns EM": scores.has_exact, "F1": scores.has_f1, "NoAns": scores.no_answer}
    summary = ", ".join(f"{name} {format_figure(share, Unit.SHARE)}" for name, share in shares.items())
    summary += (
        f"; the answer or the closest passage holds a gold answer: {format_figure(scores.held, Unit.SHARE)}"
    )
    summary += f"; an answer in ten is longer than {format_figure(scores.words_p90, Unit.COUNT)} words"
    console.print(summary, highlight=False, markup=False)
    console.print(_LEGEND, style="dim", soft_wrap=True)


def _new_table(title: str) -> Table:
    return Table(title=escape(title), title_justify="left", box=None, pad_edge=False)


def outcome_table(title: str, first: str) -> Table:
    """Return a table of outcomes whose first column has that heading; the caller can add columns."""
    table = _new_table(title)
    table.add_column(first, no_wrap=True)
    for heading in _OUTCOMES:
        table.add_column(heading, justify="right")
    return table


def outcome_cells(outcomes: Outcomes) -> list[str]:
    """Return the cells below the outcomes' headings."""
    return [
        format_figure(share, Unit.SHARE)
        for share in (outcomes.right, outcomes.wrong, outcomes.not_known, outcomes.answered)
    ]
