"""report.json against an independent count of the runs' records."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evaluation.commands.report import write_report
from evaluation.data.model import Part
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import APPROXIMATE
from evaluation.judging.verdicts import Verdict
from evaluation.record import TurnRecord
from evaluation.runs.store import load_run
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import case_of
from tests.unit.evaluation.reporting.generated import Skill, questions, run, written
from tests.unit.evaluation.scoring.recomputation import recompute

POINTS = {"correct": 1, "missing": 0, "incorrect": -1}
SKILLS = (Skill("careful", 0.3, 0.6), Skill("bold", 0.45, 0.1, 2.0), Skill("plain", 0.5, 0.3))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("runs")
    asked = questions(45, seed=4)
    return [written(run(skill, asked), root / skill.name) for skill in SKILLS]


@pytest.fixture(scope="module", params=list(Protocol))
def told(
    request: pytest.FixtureRequest, folders: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    out = tmp_path_factory.mktemp("report")
    protocol: Protocol = request.param
    write_report(folders, out, judge="rules", protocol=protocol, cut=APPROXIMATE, made_at=0.0)
    report = json.loads((out / "report.json").read_text())
    assert report["protocol"] == protocol.value
    return report


def verdict(record: TurnRecord) -> str:
    """These answers refuse in the words of both protocols, and repeat the gold sentence where right."""
    if record.answer is None or "I don't know" in record.answer.answer:
        return "missing"
    judged = judge_by_rules(case_of(record)).verdict
    return "correct" if judged is Verdict.CORRECT else "incorrect"


def recomputed(records: list[TurnRecord], protocol: str) -> dict[str, float]:
    rows = [
        {
            "session": f"{record.part} {record.session_id}",
            "turn": record.turn,
            "several": record.part is Part.MULTI,
            "said": record.answer.answer if record.answer else None,
            "gold": record.gold,
            "judge": "right" if verdict(record) == "correct" else "wrong",
        }
        for record in records
    ]
    return recompute(rows, protocol)


def test_rates_equal_the_records(told: Any, folders: list[Path]) -> None:
    for system, folder in zip(told["systems"], folders, strict=True):
        records = load_run(folder).records
        assert [part["part"] for part in system["parts"]] == ["single", "multi", "all"]
        for part in system["parts"]:
            inside = [record for record in records if part["part"] in (record.part.value, "all")]
            assert part["questions"] == len(inside)
            for name, value in recomputed(inside, told["protocol"]).items():
                figure = part["estimates"][name]
                assert figure["value"] == pytest.approx(value)
                assert figure["low"] <= figure["value"] + 1e-9
                assert figure["value"] - 1e-9 <= figure["high"]


def test_times_are_of_the_answers_that_came(told: Any, folders: list[Path]) -> None:
    for system, folder in zip(told["systems"], folders, strict=True):
        records = load_run(folder).records
        times = sorted(record.client_ms for record in records if record.answer)
        figures = system["parts"][-1]["estimates"]
        assert figures["elapsed_mean_ms"]["value"] == pytest.approx(sum(times) / len(times))
        for name, share in (("elapsed_p50_ms", 0.5), ("elapsed_p95_ms", 0.95)):
            assert figures[name]["value"] == pytest.approx(times[math.ceil(share * len(times)) - 1])
        drafts = sorted(record.answer.timings_ms["draft"] for record in records if record.answer)
        stages = {each["stage"]: each for each in system["stages"]}
        assert stages["draft"]["count"] == len(drafts)
        assert stages["draft"]["p95"] == drafts[math.ceil(0.95 * len(drafts)) - 1]
        assert list(stages)[-2:] == ["total", "client"]


def test_slices_partition_the_questions(told: Any, folders: list[Path]) -> None:
    by_name = {cut["name"]: cut for cut in told["slices"]}
    for name in ("domain", "query_category", "dynamism", "image_quality"):
        for skill, folder in zip(SKILLS, folders, strict=True):
            records = load_run(folder).records
            cells = {value: cells[skill.name] for value, cells in by_name[name]["slices"].items()}
            assert sum(cell["count"] for cell in cells.values()) == len(records)
            for value, cell in cells.items():
                verdicts = [verdict(record) for record in records if getattr(record, name) == value]
                assert cell["count"] == len(verdicts)
                assert cell["hallucination"] == pytest.approx(verdicts.count("incorrect") / len(verdicts))
                assert cell["truthfulness"] == pytest.approx(sum(POINTS[v] for v in verdicts) / len(verdicts))


def test_operating_point_is_the_given_answers(told: Any, folders: list[Path]) -> None:
    for system, folder in zip(told["systems"], folders, strict=True):
        records = load_run(folder).records
        verdicts = [verdict(record) for record in records]
        curve = system["curve"]
        answered = sum(each != "missing" for each in verdicts)
        assert curve["coverage"] == pytest.approx(answered / len(records))
        assert curve["hallucination"] == pytest.approx(verdicts.count("incorrect") / len(records))
        withheld = [record for record in records if record.answer and record.answer.abstained]
        assert curve["withheld"] == len(withheld)
        last = curve["points"][-1]
        assert last["coverage"] == pytest.approx((answered + len(withheld)) / len(records))
        assert all(one["coverage"] <= two["coverage"] for one, two in pairwise(curve["points"]))
