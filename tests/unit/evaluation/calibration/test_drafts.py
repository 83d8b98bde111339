"""Train a search router on the drafts of a run and use it in a gateway."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import to_thread
from typer.testing import CliRunner

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from evaluation.calibration.proposals import Judging, judge_run
from evaluation.calibration.replay import CalibrationError
from evaluation.data.opening import open_dataset
from evaluation.judging.rule_judge import RuleJudge
from evaluation.judging.verdicts import Case, Judgement, Verdict
from evaluation.record import TurnRecord
from evaluation.runs.asking import Asking
from evaluation.runs.running import Task as Asked
from evaluation.runs.running import connect, make_run
from evaluation.runs.store import Run
from gateway.reasoning.port import ReadPhoto
from gateway.state import Draft, Query
from loreglass_client.models import Explanation, Route
from tests.unit.evaluation.runs.small_world import Turn, numbered, write_world
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, direct_draft
from training.cli import app
from training.data.building import Drafts, drafts_of
from training.heads.search_router import fit_router, read_drafts

QUESTIONS = 60
UNSURE_FROM = 30


class TooSure(ScriptedReasoner):
    """Right about the first questions. From `UNSURE_FROM` on it is wrong, and hardly less sure."""

    async def draft(
        self, ask: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        wrong = int(re.findall(r"\d+", ask.question)[0]) >= UNSURE_FROM
        return (
            direct_draft("Ada Berg", confidence=0.85) if wrong else direct_draft("Mira Holm", confidence=0.95)
        )


class Counting:
    """A judge that costs something: the rules, with how often they were asked."""

    name = "model:counting"

    def __init__(self, silent: frozenset[str] = frozenset()) -> None:
        self.calls = 0
        self._silent = silent

    async def judge(self, case: Case) -> Judgement:
        self.calls += 1
        if case.interaction_id in self._silent:
            return Judgement(Verdict.INCORRECT, "it broke", failed=True)
        return await RuleJudge().judge(case)


async def run_of(folder: Path, questions: list[Turn], router: Path | None = None) -> Run:
    world = write_world(folder / "world", questions, [])
    services, reasoner = FakeServices(), TooSure()
    async with (
        gateway_before(services, reasoner, experiments=True, router=router) as platform,
        connect(str(platform.client.base_url)) as gateway,
    ):
        task = Asked(open_dataset(str(world)), folder / "run", Asking(pipeline="loreglass"), "loreglass")
        return (await make_run(task, gateway)).run


async def exported(run: Run, judge: Counting | RuleJudge | None = None) -> Drafts:
    return await drafts_of(run, Judging(judge or RuleJudge()), 0, 0.2)


def explain(record: TurnRecord) -> Explanation:
    assert record.answer is not None
    assert record.answer.explanation is not None
    return record.answer.explanation


def with_answer(run: Run, place: int, **changes: object) -> Run:
    records = list(run.records)
    answer = records[place].answer
    assert answer is not None
    records[place] = records[place].model_copy(update={"answer": answer.model_copy(update=changes)})
    return replace(run, records=tuple(records))


async def test_trained_router_withholds_wrong_drafts(tmp_path: Path) -> None:
    run = await run_of(tmp_path / "before", numbered(QUESTIONS))
    routes = [record.answer.route for record in run.records if record.answer]
    assert routes == [Route.DIRECT] * QUESTIONS
    data = tmp_path / "data"
    command = ["data", str(run.folder), "--task", "draft", "--out", str(data)]
    result = await to_thread.run_sync(CliRunner().invoke, app, command)
    assert result.exit_code == 0, result.output
    drafts = read_drafts([data])
    assert (len(drafts.samples), sum(each.right for each in drafts.samples)) == (QUESTIONS, UNSURE_FROM)
    artefact = tmp_path / "router.json"
    artefact.write_text(fit_router(drafts, "")[0].model_dump_json(), encoding="utf-8")
    again = await run_of(tmp_path / "after", numbered(QUESTIONS), artefact)
    direct = [record.answer.route is Route.DIRECT for record in again.records if record.answer]
    assert direct == [number < UNSURE_FROM for number in range(QUESTIONS)]


async def test_row_has_features_and_verdict(tmp_path: Path) -> None:
    run = await run_of(tmp_path, numbered(UNSURE_FROM + 1))
    first, *_, last = (await exported(run)).samples
    assert (explain(run.records[0]).draft, first.right) == ("Mira Holm", True)
    assert (explain(run.records[-1]).draft, last.right) == ("Ada Berg", False)
    shares = {"confidence": 0.95, "number": 0, "speculates": 0}
    assert first.features == shares | dict.fromkeys(("self_contained", "quoted", "named"), 1)
    assert (first.judge, first.origin.interaction_id) == ("rules", "questions-0.0")
    assert first.system.startswith("loreglass ")


async def test_draft_is_judged_once_apart_from_the_answer(tmp_path: Path) -> None:
    run = with_answer(await run_of(tmp_path, numbered(3)), 0, answer="I don't know.", abstained=True)
    judge = Counting()
    rows = (await exported(run, judge)).samples
    assert [row.right for row in rows] == [True] * 3
    before = judge.calls
    await exported(run, judge)
    await judge_run(run, Judging(judge))
    assert (before, judge.calls) == (3, 3)
    names = {path.name for path in (run.folder / "verdicts").iterdir()}
    assert any("draft" in name for name in names)
    assert not any(name.startswith("model-counting.") for name in names)


async def test_fallback_and_unjudged_drafts_are_skipped(tmp_path: Path) -> None:
    run = with_answer(await run_of(tmp_path, numbered(4)), 1, degraded=["draft"])
    drafts = await exported(run, Counting(frozenset({"questions-2.0"})))
    assert [each.origin.interaction_id for each in drafts.samples] == ["questions-0.0", "questions-3.0"]
    assert (drafts.unused.total(), drafts.unjudged) == (1, 1)


async def test_a_run_without_drafts_is_refused_in_words(tmp_path: Path) -> None:
    run = await run_of(tmp_path, numbered(1))
    bare = explain(run.records[0]).model_copy(update={"draft": None, "signals": {}})
    with pytest.raises(CalibrationError, match="search router"):
        await exported(with_answer(run, 0, explanation=bare))
    with pytest.raises(CalibrationError, match="without an explanation"):
        await exported(with_answer(run, 0, explanation=None))
