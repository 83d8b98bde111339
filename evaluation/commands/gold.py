"""`loreglass eval gold`: a judge against people's verdicts."""

import math
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.judge import model_judge
from evaluation.commands.run import refuse
from evaluation.judging.choice import Choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.judging.agreement import Agreement
    from evaluation.judging.gold import GoldCase
    from evaluation.judging.port import Judgement


def gold(
    judge: Annotated[Choice, typer.Option(help="rules or model")] = Choice.RULES,
    base_url: Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")] = "",
    model: Annotated[str, typer.Option(help="its name there; else LOREGLASS_JUDGE_MODEL")] = "",
) -> None:
    """How far a judge agrees with the stored verdicts of our gold set, by kind and by verdict.

    A model's key is read from LOREGLASS_JUDGE_KEY. Fails where the judge gave no verdict at all.
    """
    import anyio

    from evaluation.judging.gold import gold_cases, held
    from evaluation.judging.model import JudgeError

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
    from evaluation.judging.gold import judged_by
    from evaluation.judging.rules import RuleJudge

    if judge is Choice.RULES:
        return RuleJudge.name, await judged_by(RuleJudge(), cases)
    async with model_judge(base_url, model) as asked:
        return f"{asked.name}, prompt {asked.version}", await judged_by(asked, cases)


def _show(
    name: str, cases: "Sequence[GoldCase]", judgements: "dict[str, Judgement]", found: "Agreement"
) -> None:
    from rich.console import Console
    from rich.table import Table

    from evaluation.judging.gold import PUBLISHED, PUBLISHED_F1, held, score_of

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
