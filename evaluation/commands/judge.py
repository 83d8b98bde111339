"""`loreglass eval judge`, `agreement` and `gold`."""

import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.run import refuse
from evaluation.judging.verdicts import Choice

if TYPE_CHECKING:
    from evaluation.data.model import Rejected
    from evaluation.judging.model_judge import ModelJudge
    from evaluation.judging.text import Cut
    from evaluation.judging.verdicts import Case, Judge, Judgement
    from evaluation.runs.store import Run

Tokenizer = Annotated[
    Path | None,
    typer.Option(help="tokenizer.json of Llama-3.2-1B-Instruct, to cut answers as the benchmark does"),
]
_MOST_REJECTED = 10


def judge_run(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="folders that `eval run` made")],
    judge: Annotated[Choice, typer.Option(help="rules, human labels or a model")] = Choice.RULES,
    base_url: Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")] = "",
    model: Annotated[str, typer.Option(help="its name there; else LOREGLASS_JUDGE_MODEL")] = "",
    labels: Annotated[Path | None, typer.Option(help="people's labels: CSV or JSON lines")] = None,
    tokenizer: Tokenizer = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="questions to a model at once")] = 4,
) -> None:
    """Judge the answers of runs; verdicts are kept with each run, and no answer is judged twice by a model.

    A model's key is read from LOREGLASS_JUDGE_KEY.
    """
    import anyio

    from evaluation.judging.model_judge import JudgeError
    from evaluation.judging.text import TokenizerError, open_cut
    from evaluation.judging.verdicts import JudgeDown, LabelsError
    from evaluation.runs.store import RunError, load_run

    try:
        opened = [load_run(folder) for folder in runs]
        cut = open_cut(tokenizer)
        if judge is Choice.HUMAN:
            _import_labels(opened, labels)
        elif judge is Choice.RULES:
            _by_rules(opened, cut)
        else:
            anyio.run(_by_model, opened, cut, base_url, model, concurrency)
    except (RunError, TokenizerError, LabelsError, JudgeError, JudgeDown) as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{error.filename or 'A file'} cannot be written: {error.strerror}.")
    except KeyboardInterrupt:
        refuse("Stopped. Verdicts so far are kept: the same command goes on from there.", 130)


def agreement_of(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a folder that `eval run` made")],
    between: Annotated[
        tuple[str, str], typer.Option(metavar="JUDGE JUDGE", help="rules, human or model:NAME")
    ],
    protocol: Annotated[str, typer.Option(help="kdd-cup-2025 or crag-mm-2026")] = "crag-mm-2026",
    tokenizer: Tokenizer = None,
    examples: Annotated[int, typer.Option(min=0, help="disagreements to show")] = 10,
) -> None:
    """Show how often two judges agree on a run, and where they differ."""
    from evaluation.judging.text import TokenizerError, open_cut
    from evaluation.runs.store import RunError, load_run
    from evaluation.scoring.protocols import Protocol
    from evaluation.scoring.scored import NotJudged
    from evaluation.scoring.showing import show_agreement

    if protocol not in set(Protocol):
        raise typer.BadParameter(f"{protocol!r} is none of {', '.join(Protocol)}", param_hint="--protocol")
    try:
        opened = load_run(run)
        show_agreement(opened.records, run, between, Protocol(protocol), open_cut(tokenizer), examples)
    except (RunError, NotJudged, TokenizerError) as error:
        refuse(str(error))


def _by_rules(runs: "list[Run]", cut: "Cut") -> None:
    from evaluation.judging.rule_judge import RuleJudge, judge_by_rules
    from evaluation.judging.verdicts import VerdictCache, key_of, verdict_file
    from evaluation.scoring.scored import case_of

    for run in runs:
        judgements = {}
        with VerdictCache(verdict_file(run.folder, RuleJudge.name), fresh=True) as cache:
            for record in run.records:
                case = case_of(record, cut)
                judgements[case.interaction_id] = judge_by_rules(case)
                cache.put(key_of(case, RuleJudge.name), case, judgements[case.interaction_id])
        _tell(run, RuleJudge.name, judgements)


def model_judge(base_url: str, model: str) -> "ModelJudge":
    """The model that is named here, or by `LOREGLASS_JUDGE_*`. Raises `JudgeError`."""
    from evaluation.judging.model_judge import ModelJudge
    from evaluation.settings import JudgeSettings

    given = JudgeSettings()
    return ModelJudge(base_url or given.url, model or given.model, given.key.get_secret_value())


async def _by_model(runs: "list[Run]", cut: "Cut", base_url: str, model: str, concurrency: int) -> None:
    from evaluation.judging.verdicts import JudgeDown, verdict_file

    async with model_judge(base_url, model) as judge:
        files = [verdict_file(run.folder, judge.name) for run in runs]
        for run in runs:
            judgements = await _watched(run, judge, cut, files, concurrency)
            _tell(run, judge.name, judgements)
            failures = [judgement.why for judgement in judgements.values() if judgement.failed]
            if failures:
                told = f"{judge.name} gave no verdict on {len(failures)} of {len(judgements)} answers"
                raise JudgeDown(f"{told} ({failures[0]}). The same command asks about them again.")


async def _watched(
    run: "Run", judge: "Judge", cut: "Cut", files: list[Path], concurrency: int
) -> "dict[str, Judgement]":
    """Judged with a bar on stderr."""
    from tqdm import tqdm

    from evaluation.judging.verdicts import VerdictCache, judge_all, verdict_file
    from evaluation.scoring.scored import case_of

    cases = [case_of(record, cut) for record in run.records]
    with (
        VerdictCache(verdict_file(run.folder, judge.name), files) as cache,
        tqdm(total=len(cases), unit="answer", file=sys.stderr, dynamic_ncols=True) as bar,
    ):

        def on_done(_: "Case", __: "Judgement") -> None:
            bar.update()

        return await judge_all(cases, judge, concurrency=concurrency, cache=cache, on_done=on_done)


def _import_labels(runs: "list[Run]", labels: Path | None) -> None:
    """Labels are of answers, which differ from run to run, so a file is for one run."""
    from evaluation.judging.verdicts import HUMAN, VerdictCache, key_of, read_human, verdict_file
    from evaluation.scoring.scored import case_of

    if labels is None:
        raise typer.BadParameter("people's labels are read from a file", param_hint="--labels")
    if len(runs) != 1:
        raise typer.BadParameter("labels are of one run's answers", param_hint="RUN")
    run = runs[0]
    rejected: list[Rejected] = []
    records = {record.interaction_id: record for record in run.records}
    judgements = read_human(labels, records.keys(), rejected.append)
    with VerdictCache(verdict_file(run.folder, HUMAN), fresh=True) as cache:
        for name, judgement in judgements.items():
            case = case_of(records[name])
            cache.put(key_of(case, HUMAN), case, judgement)
    _tell(run, HUMAN, judgements)
    _tell_rejected(rejected)


def _tell_rejected(rows: "list[Rejected]") -> None:
    """Print how many rows cannot be used, by kind, and the first ones."""
    from rich.console import Console

    console = Console(stderr=True)
    for kind, count in sorted(Counter(row.kind for row in rows).items()):
        console.print(f"{kind}: {count}", markup=False, highlight=False)
    for row in rows[:_MOST_REJECTED]:
        console.print(f"  {row.where}: {row.why}", markup=False, highlight=False, soft_wrap=True)


def _tell(run: "Run", judge: str, judgements: "dict[str, Judgement]") -> None:
    from rich.console import Console

    from evaluation.judging.verdicts import counts, verdict_file

    told = ", ".join(f"{name} {count}" for name, count in counts(judgements).items()) or "nothing"
    line = f"{run.header.name}, judged by {judge}: {told}. {verdict_file(run.folder, judge)}"
    Console().print(line, markup=False, highlight=False, soft_wrap=True)


if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.judging.agreement import Agreement, GoldCase
    from evaluation.judging.verdicts import Judgement


def gold(
    judge: Annotated[Choice, typer.Option(help="rules or model")] = Choice.RULES,
    base_url: Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")] = "",
    model: Annotated[str, typer.Option(help="its name there; else LOREGLASS_JUDGE_MODEL")] = "",
) -> None:
    """Show how often a judge agrees with the verdicts of the gold set, by kind and by verdict.

    A model's key is read from LOREGLASS_JUDGE_KEY. Fails where the judge gave no verdict at all.
    """
    import anyio

    from evaluation.judging.agreement import gold_cases, held
    from evaluation.judging.model_judge import JudgeError

    if judge is Choice.HUMAN:
        raise typer.BadParameter("people's verdicts are what judges are held against", param_hint="--judge")
    cases = gold_cases()
    try:
        name, judgements = anyio.run(_judged, judge, cases, base_url, model)
    except JudgeError as error:
        refuse(str(error))
    found = held(cases, judgements)
    _show(name, cases, judgements, found)
    if not found.count:
        sys.exit(1)


async def _judged(
    judge: Choice, cases: "Sequence[GoldCase]", base_url: str, model: str
) -> "tuple[str, dict[str, Judgement]]":
    from evaluation.judging.agreement import judged_by
    from evaluation.judging.rule_judge import RuleJudge

    if judge is Choice.RULES:
        return RuleJudge.name, await judged_by(RuleJudge(), cases)
    async with model_judge(base_url, model) as asked:
        return f"{asked.name}, prompt {asked.version}", await judged_by(asked, cases)


def _show(
    name: str, cases: "Sequence[GoldCase]", judgements: "dict[str, Judgement]", found: "Agreement"
) -> None:
    from rich.console import Console
    from rich.table import Table

    from evaluation.judging.agreement import PUBLISHED, PUBLISHED_F1, held, score_of

    console = Console()
    failed = f", {found.failed} without a verdict" if found.failed else ""
    line = f"{name}: {found.count} answers{failed}, equal {found.accuracy:.1%}, kappa {_number(found.kappa)}"
    console.print(line, markup=False, highlight=False, soft_wrap=True)
    by_verdict = Table("verdict", "accuracy", "precision", "recall", "F1", "published: accuracy", "F1")
    for verdict, accuracy in PUBLISHED.items():
        score = score_of(verdict, found)
        shares = (score.accuracy, score.precision, score.recall, score.f1)
        published = (f"{accuracy:.1f}", f"{PUBLISHED_F1[verdict]:.1f}")
        by_verdict.add_row(verdict.value, *(_percent(share) for share in shares), *published)
    console.print(by_verdict)
    by_kind = Table("kind", "answers", "equal")
    for kind in dict.fromkeys(each.kind for each in cases):
        of_kind = [each for each in cases if each.kind == kind]
        part = held(of_kind, judgements)
        by_kind.add_row(kind, str(part.count), _percent(part.accuracy))
    console.print(by_kind)


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.1f}"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"
