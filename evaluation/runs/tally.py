"""What the rule judge makes of a run while it is made, and the tables at its end."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.data.model import Part
from evaluation.judging.port import Judgement
from evaluation.judging.rules import RuleJudge
from evaluation.record import TurnRecord
from evaluation.runs.running import Made
from evaluation.runs.spans import print_spans
from evaluation.runs.store import Run
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, case_of, scored_with
from evaluation.scoring.scores import Scores, scores_of
from evaluation.scoring.spans import marked, span_scores

FAILED = "failed"
_COST = "there is no refusal curve, no evidence shown with failures, and nothing to calibrate on"


class Tally:
    """Right, missing, wrong and failed so far, by the rule judge."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._judge = RuleJudge()
        self._judgements: dict[str, Judgement] = {}

    async def add(self, record: TurnRecord) -> None:
        """Judge one more."""
        judgement = await self._judge.judge(case_of(record))
        self._judgements[record.interaction_id] = judgement
        self.counts[FAILED if record.error else judgement.verdict.value] += 1

    def scored(self, records: Iterable[TurnRecord]) -> list[Scored]:
        """Those records that were added, with their judgements."""
        return scored_with(records, self._judgements)


def print_made(made: Made, scored: Sequence[Scored], console: Console) -> None:
    """As `print_run`, and what this attempt added."""
    run = made.run
    print_run(run, scored, console)
    if made.refused:
        console.print(
            "The gateway allows no experiments, so the answers came without explanations: "
            f"{_COST}. LOREGLASS_GATEWAY_EXPERIMENTS=true on the gateway allows them.",
            style="yellow",
        )
    kept = f"{made.asked} asked now, {len(run.records)} in all: {run.folder}"
    console.print(kept, highlight=False, soft_wrap=True, markup=False)


def print_run(run: Run, scored: Sequence[Scored], console: Console) -> None:
    """The scores by both protocols, or SQuAD's where the golds are stretches of a text; and whatever was not
    asked or failed.
    """
    spans = marked(scored)
    name = run.header.name
    if spans:
        print_spans(name, span_scores(spans), console)
    else:
        console.print(_table(name, scored))
    console.print("judged by rules; `eval judge` asks a model, `eval report` shows more", style="dim")
    _count(console, "rows that could not be asked", run.header.rejected)
    _count(console, "failed requests", run.failures)
    again = sum(record.asked_again for record in run.records)
    if again:
        console.print(f"turned away as overloaded, and asked again: {again}", highlight=False)


def _table(name: str, scored: Sequence[Scored]) -> Table:
    table = Table(
        title=escape(name),
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for heading in ("part", "protocol"):
        table.add_column(heading, no_wrap=True)
    for heading in ("n", "accuracy", "missing", "halluc.", "truthful", "session", "stopped"):
        table.add_column(heading, justify="right")
    for part in Part:
        of_part = [each for each in scored if each.record.part is part]
        for protocol in Protocol if of_part else ():
            table.add_row(part.value, protocol.value, *_cells(scores_of(of_part, protocol)))
    return table


def _cells(scores: Scores) -> list[str]:
    return [
        str(scores.count),
        *(f"{rate:.1%}" for rate in (scores.accuracy, scores.missing, scores.hallucination)),
        f"{scores.truthfulness:+.3f}",
        f"{scores.session_truthfulness:+.3f}",
        "" if scores.early_stopped is None else f"{scores.early_stopped:.1%}",
    ]


def _count(console: Console, label: str, counts: Mapping[str, int]) -> None:
    told = ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
    console.print(f"{label}: {told}", highlight=False, markup=False)
