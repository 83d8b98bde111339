"""The measures of InfoSeek, E-VQA and OK-VQA: in what `eval run`, `report` and `ablate` show."""

import json
import math
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from typer.testing import CliRunner, Result

from contracts.answer import Reason, Route
from evaluation.cli import app
from evaluation.data.model import AnswerType, Scorer, Truth
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.reporting.paper_tables import systems_at
from evaluation.scoring.intervals import estimate
from evaluation.scoring.measures import measure
from evaluation.scoring.protocols import Protocol, Scored, case_of
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.data.vqa_files import SEEK, infoseek
from tests.unit.evaluation.records import answered, turn_of

SCORE, HARMONIC = (measure(name, Protocol.KDD_CUP_2025) for name in ("benchmark_score", "harmonic_score"))


def scored(
    name: str,
    answer: str,
    split: str = "",
    scorer: Scorer = Scorer.INFOSEEK,
    verdict: Verdict = Verdict.INCORRECT,
) -> Scored:
    truth = Truth(interaction_id=name, answer_type=AnswerType.NAME, accepted=("moss",), scorer=scorer)
    record = turn_of(name, answered(answer), truth=truth, query_category=split, gold="moss")
    return Scored(record, Judgement(verdict, ""))


def answers(questions: int, entities: int, of: int = 10) -> list[Scored]:
    return [
        scored(f"{split}{n}", "Moss." if n < right else "bark", split)
        for split, right in (("unseen_question", questions), ("unseen_entity", entities))
        for n in range(of)
    ]


def test_infoseeks_final_score_is_the_harmonic_mean_of_its_splits() -> None:
    rows = answers(5, 2)
    assert SCORE.of(rows) == pytest.approx(0.35)
    assert HARMONIC.of(rows) == pytest.approx(2 * 0.5 * 0.2 / 0.7)
    interval = estimate(rows, HARMONIC)
    assert 0 <= interval.low < HARMONIC.of(rows) < interval.high <= 1
    assert HARMONIC.of(answers(5, 0)) == 0
    assert math.isnan(HARMONIC.of(rows[:10]))  # one split alone has none
    assert SCORE.of([scored("a", "Moss", scorer=Scorer.OKVQA)]) == 0  # nobody else said so, nor in lower case


def test_evqa_score_is_the_judges_if_no_gold_matches() -> None:
    rows = [
        scored("a", "mosses", scorer=Scorer.EVQA, verdict=Verdict.CORRECT),
        scored("b", "moss", scorer=Scorer.EVQA),
        scored("c", "bark", scorer=Scorer.EVQA),
        Scored(turn_of("d", answered("moss")), Judgement(Verdict.CORRECT, "")),
    ]
    assert SCORE.of(rows) == pytest.approx(2 / 3)


def test_full_answer_is_scored() -> None:
    words = " ".join(["moss"] * 200)
    assert case_of(scored("a", words).record).answer == words


def script(ask: Query) -> Outcome:
    answer = "E Marr" if "Who" in ask.question else "It is 200 m long."
    return Outcome(answer, Reason.ANSWERED, 0.8, Route.RAG)


async def test_the_benchmarks_score_is_in_the_run_the_report_and_the_table(tmp_path: Path) -> None:
    third = {**SEEK[1], "data_id": "third", "answer_eval": {"range": [190, 210]}}
    source = infoseek(tmp_path, [*SEEK, third])

    async def invoke(*words: str | Path) -> Result:
        line = list(map(str, words))
        return await anyio.to_thread.run_sync(partial(CliRunner().invoke, app, line, env={"COLUMNS": "120"}))

    pipeline = ScriptedPipeline(script, "wiki-prf")
    names = systems_at("", ["wiki-prf-1"])
    variants = {"wiki-prf": pipeline, **dict.fromkeys(names, pipeline)}
    async with scripted_gateway(pipeline, experiments=True, variants=variants) as url:
        options = ("--gateway", url, "--pipeline", "wiki-prf")
        run = await invoke("run", source, "--out", tmp_path / "run", *options)
        tables = ("--tables", "wiki-prf-1", "--gateway", url, "--at", f"prf-7b={url}")
        table = await invoke("ablate", source, "--out", tmp_path / "out", *tables)
        unknown = await invoke("ablate", source, "--out", tmp_path / "out", *tables, "--at", f"prf-9b={url}")
    assert run.exit_code == 0, run.output
    assert "the benchmark's own score 66.7 %, harmonic mean of both splits 66.7 %" in run.output
    report = await invoke("report", tmp_path / "run", "--out", tmp_path / "report")
    assert report.exit_code == 0, report.output
    (system,) = json.loads((tmp_path / "report/report.json").read_text())["systems"]
    assert system["parts"][-1]["estimates"]["benchmark_score"]["value"] == pytest.approx(2 / 3)
    assert "benchmark&#39;s score" in (tmp_path / "report/report.html").read_text()
    assert table.exit_code == 0, table.output
    page = (tmp_path / "out/ablation.md").read_text()
    (*_, row) = [line for line in page.splitlines() if line.startswith("| VLM-PRF, Qwen2.5-VL-7B |")]
    assert "| wiki-prf-no-refusals@prf-7b | 3 | 43.3 | 100.0 (100.0 to 100.0) of 1 | 42.7 | 50.0 " in row
    assert "needs --at prf-internvl=URL" in page
    assert unknown.exit_code == 2
    assert "prf-llama" in unknown.output
