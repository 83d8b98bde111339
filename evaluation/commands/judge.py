"""`loreglass eval judge`, `agreement` and `gold`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import anyio.to_thread
import typer
from rich.console import Console

from evaluation.commands.run import require, stops_politely
from evaluation.judging.benchmarks import BemJudge, open_bem
from evaluation.judging.model_judge import JudgeSettings, ModelJudge, undisputed
from evaluation.judging.rule_judge import RuleJudge
from evaluation.judging.text import Cut, one_line, open_cut
from evaluation.judging.verdicts import (
    HUMAN,
    Case,
    Choice,
    Judge,
    JudgeDown,
    Judgement,
    VerdictCache,
    counts,
    judge_all,
    key_of,
    read_labels,
    verdict_file,
)
from evaluation.runs.store import Run, load_run
from evaluation.scoring.protocols import Protocol, case_of, score_records

if TYPE_CHECKING:
    from evaluation.judging.agreement import Agreement

Tokenizer = Annotated[
    Path | None,
    typer.Option(help="tokenizer.json of Llama-3.2-1B-Instruct, to cut answers as the benchmark does"),
]
BaseUrl = Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")]
ModelName = Annotated[
    str, typer.Option("--model", help="its name there; else LOREGLASS_JUDGE_MODEL; of bem: a folder with it")
]
_MOST_SHOWN = 300


def judge_run(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="folders that `eval run` made")],
    judge: Annotated[Choice, typer.Option(help="who judges")] = Choice.RULES,
    base_url: BaseUrl = "",
    model: ModelName = "",
    labels: Annotated[Path | None, typer.Option(help="people's labels, CSV")] = None,
    tokenizer: Tokenizer = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="questions to a model at once")] = 4,
) -> None:
    """Judge the answers of runs; verdicts are kept with each run, and no answer is judged twice by a model.

    A model's key is read from LOREGLASS_JUDGE_KEY.
    """
    with stops_politely():
        opened = [load_run(folder) for folder in runs]
        cut = open_cut(tokenizer)
        if judge is Choice.HUMAN:
            _import_labels(opened, labels)
        else:
            anyio.run(_judge_all, opened, cut, judge, base_url, model, concurrency)


@asynccontextmanager
async def open_judge(choice: Choice, base_url: str, model: str) -> AsyncIterator[Judge]:
    """Open the rules, BEM, or the model from the options or `LOREGLASS_JUDGE_*`. Raises `JudgeError`."""
    if choice is Choice.RULES:
        yield RuleJudge()
        return
    if choice is Choice.BEM:
        yield BemJudge(await anyio.to_thread.run_sync(open_bem, model))
        return
    given = JudgeSettings()
    key = given.key.get_secret_value()
    async with ModelJudge(base_url or given.url, model or given.model, key) as judge:
        yield judge


async def _judge_all(
    runs: list[Run], cut: Cut, choice: Choice, base_url: str, model: str, concurrency: int
) -> None:
    async with open_judge(choice, base_url, model) as judge:
        files = [verdict_file(run.folder, judge.name) for run in runs]
        fresh = isinstance(judge, RuleJudge)  # the rules cost nothing and may have changed
        for run, path in zip(runs, files, strict=True):
            cases = [case_of(record, cut) for record in run.records]
            with VerdictCache(path, [] if fresh else files, fresh=fresh) as cache:
                judgements = await judge_all(cases, judge, concurrency=concurrency, cache=cache)
            _tell(run, judge.name, judgements)
            failures = [judgement.why for judgement in judgements.values() if judgement.failed]
            if failures:
                message = f"{judge.name} gave no verdict on {len(failures)} of {len(judgements)} answers"
                raise JudgeDown(f"{message} ({failures[0]}). The same command asks about them again.")


def _import_labels(runs: list[Run], labels: Path | None) -> None:
    """Import labels. A file is for one run, because answers differ from run to run."""
    if labels is None:
        raise typer.BadParameter("people's labels are read from a file", param_hint="--labels")
    if len(runs) != 1:
        raise typer.BadParameter("labels are of one run's answers", param_hint="RUN")
    run = runs[0]
    records = {record.interaction_id: record for record in run.records}
    judgements = read_labels(labels, records.keys())
    with VerdictCache(verdict_file(run.folder, HUMAN), fresh=True) as cache:
        for name, judgement in judgements.items():
            case = case_of(records[name])
            cache.put(key_of(case, HUMAN), case, judgement)
    _tell(run, HUMAN, judgements)


def _tell(run: Run, judge: str, judgements: dict[str, Judgement]) -> None:
    text = ", ".join(f"{name} {count}" for name, count in counts(judgements).items()) or "nothing"
    line = f"{run.header.name}, judged by {judge}: {text}. {verdict_file(run.folder, judge)}"
    Console().print(line, markup=False, highlight=False, soft_wrap=True)


def agreement_of(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a folder that `eval run` made")],
    between: Annotated[
        tuple[str, str], typer.Option(metavar="JUDGE JUDGE", help="rules, human or model:NAME")
    ],
    protocol: Annotated[Protocol, typer.Option(help="which published rules")] = Protocol.CRAG_MM_2026,
    tokenizer: Tokenizer = None,
    examples: Annotated[int, typer.Option(min=0, help="disagreements to show")] = 10,
) -> None:
    """Print the agreement of two judges on a run, and their disagreements."""
    require("pandas")
    from evaluation.judging.agreement import agreement

    with stops_politely():
        cut = open_cut(tokenizer)
        records = {record.interaction_id: record for record in load_run(run).records}
        ours, theirs = (
            {
                each.record.interaction_id: replace(each.judgement, verdict=each.verdict(protocol))
                for each in score_records(list(records.values()), run, judge, cut)[0]
            }
            for judge in between
        )
    whole = agreement(ours, theirs)
    disputed = {
        name: verdict for name, verdict in ours.items() if undisputed(case_of(records[name], cut)) is None
    }
    left = agreement(disputed, {name: verdict for name, verdict in theirs.items() if name in disputed})
    typer.echo(f"{between[0]} and {between[1]} on {run}")
    typer.echo(f"answers cut by: {cut.name}; protocol: {protocol.value}")
    typer.echo(_line("all answers", whole))
    typer.echo(_line("those that a judge decides", left))
    typer.echo(f"rows: {between[0]}; columns: {between[1]}\n{whole.confusion.to_string()}")
    for name in whole.disagreements[:examples]:
        record, verdicts = records[name], zip(between, (ours[name], theirs[name]), strict=True)
        lines = [record.question, f"gold: {record.gold}"]
        lines.append(f"answer: {record.answer.answer if record.answer else ''}")
        lines += [f"{judge}: {each.verdict.value}, {each.why}" for judge, each in verdicts]
        typer.echo("\n  ".join(one_line(line)[:_MOST_SHOWN] for line in lines))


def _line(label: str, agreement: "Agreement") -> str:
    if not len(agreement.verdicts):
        return f"{label}: none in common"
    parts = [
        f"{label}: {len(agreement.verdicts)}",
        f"equal {agreement.accuracy:.1%}",
        f"kappa {agreement.kappa:.3f}",
    ]
    parts += [f"{agreement.failed} left out, a judgement failed"] if agreement.failed else []
    parts += [f"{agreement.unshared} judged by one alone"] if agreement.unshared else []
    return ", ".join(parts)


def gold(
    judge: Annotated[Choice, typer.Option(help="rules or model")] = Choice.RULES,
    base_url: BaseUrl = "",
    model: ModelName = "",
) -> None:
    """Show how often a judge agrees with the verdicts of the gold set, by kind and by verdict.

    A model's key is read from LOREGLASS_JUDGE_KEY. Fails where the judge gave no verdict at all.
    """
    require("pandas")
    import pandas as pd

    from evaluation.judging.agreement import PUBLISHED, gold_cases, with_people

    if judge is Choice.HUMAN:
        raise typer.BadParameter("people's verdicts are what judges are held against", param_hint="--judge")
    cases = gold_cases()
    with stops_politely():
        name, judgements = anyio.run(_on_gold, judge, [each.case for each in cases], base_url, model)
    agreement = with_people(cases, judgements)
    typer.echo(f"{name}: {_line('answers', agreement)}")
    table = agreement.by_verdict().join(PUBLISHED)
    equal = agreement.verdicts["first"] == agreement.verdicts["second"]
    kinds = pd.Series({each.case.interaction_id: each.kind for each in cases}, name="kind")
    by_kind = equal.groupby(kinds, sort=False).agg(answers="size", equal=lambda kind: 100 * kind.mean())
    for each in (table, by_kind):
        typer.echo(each.to_string(float_format="%.1f", na_rep="–"))


async def _on_gold(
    judge: Choice, cases: list[Case], base_url: str, model: str
) -> tuple[str, dict[str, Judgement]]:
    async with open_judge(judge, base_url, model) as opened:
        return opened.name, await judge_all(cases, opened)
