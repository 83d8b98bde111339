"""What an evaluation found: tables for people, JSON for programs."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.judging.judge import Verdict
from evaluation.scoring import (
    Latency,
    Outcome,
    Refusals,
    Scores,
    degradations,
    errors,
    latencies,
    mean_over_sessions,
    refusals,
    score,
    scores_by,
    with_early_stop,
)

ERROR = "error"
_GROUPINGS: Mapping[str, Callable[[Outcome], str]] = {
    "query_category": lambda outcome: outcome.turn.query_category,
    "image_quality": lambda outcome: outcome.turn.image_quality,
    "domain": lambda outcome: outcome.turn.domain,
    "route": lambda outcome: outcome.answer.route.value if outcome.answer else ERROR,
    "reason": lambda outcome: outcome.answer.reason.value if outcome.answer else ERROR,
    "answerable": lambda outcome: "yes" if outcome.turn.answerable else "no",
    "needs": lambda outcome: outcome.turn.truth.needs or "unstated",
    "answer_type": lambda outcome: outcome.turn.truth.answer_type.value,
}


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is counted. `overall` by part, `groups` by label and then by its values.

    Groups and latencies are over all turns as answered, before any early stop.
    """

    overall: Mapping[str, Scores]
    groups: Mapping[str, Mapping[str, Scores]]
    refusals: Refusals
    latencies: Mapping[str, Latency]
    degraded: Mapping[str, int]
    errors: Mapping[str, int]


def summarise(single: Sequence[Outcome], multi: Sequence[Outcome]) -> Report:
    """The report on both parts; a part that was not run is left out."""
    everything = [*single, *multi]
    overall: dict[str, Scores] = {}
    if single:
        overall["single-turn"] = _scores(single)
    if multi:
        stopped = with_early_stop(multi)
        overall["multi-turn, early stop"] = _scores(stopped)
        overall["multi-turn, early stop, by session"] = mean_over_sessions(stopped)
        overall["multi-turn, no stop"] = _scores(multi)
    if single and multi:
        overall["all turns, no stop"] = _scores(everything)
    return Report(
        overall=overall,
        groups={label: scores_by(everything, key) for label, key in _GROUPINGS.items()},
        refusals=refusals(everything),
        latencies=latencies(everything),
        degraded=degradations(everything),
        errors=errors(everything),
    )


def _scores(outcomes: Sequence[Outcome]) -> Scores:
    return score(outcome.verdict for outcome in outcomes)


def print_report(report: Report, console: Console) -> None:
    """All tables."""
    console.print(_score_table("overall", report.overall))
    for label, groups in report.groups.items():
        console.print(_score_table(label, groups))
    console.print(_latency_table(report.latencies))
    console.print(_counts("degraded stages", report.degraded), highlight=False)
    console.print(_counts("failed requests", report.errors), highlight=False)
    kept = report.refusals
    console.print(
        f"refused: {kept.kept} of {kept.unanswerable} questions that cannot be answered, "
        f"{kept.timid} of {kept.answerable} that can",
        highlight=False,
    )


def print_wrong(outcomes: Sequence[Outcome], limit: int, console: Console) -> None:
    """The first hallucinations, with what was wanted."""
    wrong = [outcome for outcome in outcomes if outcome.verdict is Verdict.INCORRECT]
    for outcome in wrong[:limit]:
        turn, answer = outcome.turn, outcome.answer
        said = answer.answer if answer else ""
        console.print(
            f"[bold]{escape(turn.question)}[/bold] ({turn.query_category}, {turn.truth.needs})\n"
            f"  wanted: {escape(turn.gold)}\n  said:   {escape(said)}  [dim]{outcome.judgement.why}[/dim]",
            highlight=False,
        )


def _score_table(label: str, groups: Mapping[str, Scores]) -> Table:
    table = Table(title=label, title_justify="left", title_style="bold")
    table.add_column("")
    for heading in ("n", "accuracy", "missing", "hallucination", "truthfulness"):
        table.add_column(heading, justify="right")
    for name, scores in groups.items():
        table.add_row(
            name,
            str(scores.count),
            _percent(scores.accuracy),
            _percent(scores.missing),
            _percent(scores.hallucination),
            f"{scores.truthfulness:+.3f}",
        )
    return table


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{share * 100:.1f} %"


def _latency_table(stages: Mapping[str, Latency]) -> Table:
    table = Table(title="milliseconds by stage", title_justify="left", title_style="bold")
    table.add_column("")
    for heading in ("n", "p50", "p95", "longest"):
        table.add_column(heading, justify="right")
    for stage, latency in stages.items():
        times = (f"{ms:.0f}" for ms in (latency.p50, latency.p95, latency.longest))
        table.add_row(stage, str(latency.count), *times)
    return table


def _counts(label: str, counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    return f"{label}: {listed or 'none'}"


def write_outcomes(path: Path, outcomes: Sequence[Outcome]) -> None:
    """One JSON object a question and line, with everything that helps to see why."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for outcome in outcomes:
            file.write(json.dumps(_line(outcome), ensure_ascii=False) + "\n")


def _line(outcome: Outcome) -> dict[str, Any]:
    turn, answer = outcome.turn, outcome.answer
    line = {
        "interaction_id": turn.interaction_id,
        "session_id": outcome.session_id,
        "question": turn.question,
        "gold": turn.gold,
        "answer": answer.answer if answer else None,
        "verdict": ERROR if outcome.error else outcome.verdict.value,
        "why": outcome.judgement.why,
        "error": outcome.error,
        "query_category": turn.query_category,
        "image_quality": turn.image_quality,
        "domain": turn.domain,
        "needs": turn.truth.needs,
        "answer_type": turn.truth.answer_type.value,
        "accepted": turn.truth.accepted,
        "true_entity": turn.truth.entity,
        "client_ms": outcome.client_ms,
    }
    if answer is not None:
        told = answer.model_dump(mode="json", exclude={"answer", "domain", "session_id"})
        line |= {**told, "routed_domain": answer.domain.value if answer.domain else None}
    return line


def write_summary(path: Path, report: Report) -> None:
    """The report as one JSON object; rates in 0..1, times in milliseconds, null where there is nothing."""
    summary = asdict(report)
    for scores, told in zip(_all_scores(report), _all_dicts(summary), strict=True):
        told["truthfulness"] = scores.truthfulness
    path.write_text(json.dumps(_without_nan(summary), indent=2) + "\n", encoding="utf-8")


def _all_scores(report: Report) -> list[Scores]:
    return [*report.overall.values(), *(s for group in report.groups.values() for s in group.values())]


def _all_dicts(summary: dict[str, Any]) -> list[dict[str, Any]]:
    grouped = (told for group in summary["groups"].values() for told in group.values())
    return [*summary["overall"].values(), *grouped]


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
