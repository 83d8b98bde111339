"""Two judges side by side in the terminal."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.judging.agreement import Agreement, agreement
from evaluation.judging.model_judge import undisputed
from evaluation.judging.text import Cut
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.record import TurnRecord
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import case_of, judged

_MOST_SHOWN = 300


def show_agreement(
    records: Sequence[TurnRecord],
    folder: Path,
    between: tuple[str, str],
    protocol: Protocol,
    cut: Cut,
    examples: int,
) -> None:
    """Prints the agreement on all answers, and on those alone that the protocol leaves to a judge.

    Raises `NotJudged`.
    """
    first, second = between
    console = Console()
    ours, theirs = (_verdicts(records, folder, judge, protocol, cut) for judge in between)
    disputed = {record.interaction_id for record in records if undisputed(case_of(record, cut)) is None}
    whole = agreement(ours, theirs)
    left = agreement(_only(ours, disputed), _only(theirs, disputed))
    console.print(f"{first} and {second} on {folder}", markup=False, style="bold")
    console.print(f"answers cut by: {cut.name}; protocol: {protocol.value}", markup=False, highlight=False)
    console.print(_line("all answers", whole), markup=False, highlight=False)
    console.print(_line("those that a judge decides", left), markup=False, highlight=False)
    console.print(_confusion(whole, first, second))
    by_id = {record.interaction_id: record for record in records}
    for apart in whole.disagreements[:examples]:
        record = by_id[apart.interaction_id]
        console.print(_shown(record), highlight=False)
        for judge, said in ((first, apart.first), (second, apart.second)):
            console.print(f"  {escape(judge)}: {said.verdict.value}, {_text(said.why)}", highlight=False)


def _verdicts(
    records: Sequence[TurnRecord], folder: Path, judge: str, protocol: Protocol, cut: Cut
) -> dict[str, Judgement]:
    scored, _ = judged(records, folder, judge, cut)
    return {
        each.record.interaction_id: replace(each.judgement, verdict=each.verdict(protocol)) for each in scored
    }


def _only(judgements: Mapping[str, Judgement], names: set[str]) -> dict[str, Judgement]:
    return {name: judgement for name, judgement in judgements.items() if name in names}


def _line(label: str, found: Agreement) -> str:
    if found.count == 0:
        return f"{label}: none in common"
    kappa = "–" if math.isnan(found.kappa) else f"{found.kappa:.3f}"
    parts = [f"{label}: {found.count}", f"equal {found.accuracy:.1%}", f"kappa {kappa}"]
    if found.failed:
        parts.append(f"{found.failed} left out, a judgement failed")
    if found.unshared:
        parts.append(f"{found.unshared} judged by one alone")
    return ", ".join(parts)


def _confusion(found: Agreement, first: str, second: str) -> Table:
    seen = [verdict for verdict in Verdict if any(verdict in pair for pair in found.confusion)]
    table = Table(title=f"rows: {escape(first)}; columns: {escape(second)}", title_justify="left")
    table.add_column("")
    for verdict in seen:
        table.add_column(verdict.value, justify="right")
    for row in seen:
        table.add_row(row.value, *(str(found.confusion.get((row, column), 0)) for column in seen))
    return table


def _shown(record: TurnRecord) -> str:
    said = record.answer.answer if record.answer else ""
    return f"[bold]{_text(record.question)}[/bold]\n  gold: {_text(record.gold)}\n  said: {_text(said)}"


def _text(text: str) -> str:
    """On one line, with nothing that a terminal would obey."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return escape(plain if len(plain) <= _MOST_SHOWN else plain[:_MOST_SHOWN] + "…")
