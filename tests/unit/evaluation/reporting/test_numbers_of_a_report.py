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


def sessions(records: tuple[TurnRecord, ...]) -> list[list[TurnRecord]]:
    found: dict[tuple[Part, str], list[TurnRecord]] = {}
    for record in records:
        found.setdefault((record.part, record.session_id), []).append(record)
    return [sorted(turns, key=lambda turn: turn.turn) for turns in found.values()]


def stopped(verdicts: list[str]) -> list[str]:
    failed = 0
    kept = []
    for each in verdicts:
        kept.append(each if failed < 2 else "missing")
        if failed < 2:
            failed = 0 if each == "correct" else failed + 1
    return kept


def counted(records: tuple[TurnRecord, ...], protocol: str) -> list[str]:
    """As the protocol counts turns: the KDD Cup's kit after the early stop, the later one before it."""
    found: list[str] = []
    for turns in sessions(records):
        verdicts = [verdict(turn) for turn in turns]
        found += stopped(verdicts) if protocol == "kdd-cup-2025" else verdicts
    return found


def test_rates_equal_the_records(told: Any, folders: list[Path]) -> None:
    for system, folder in zip(told["systems"], folders, strict=True):
        records = load_run(folder).records
        parts = {"all": records} | {
            part.value: tuple(record for record in records if record.part is part) for part in Part
        }
        assert {each["part"] for each in system["parts"]} == set(parts)
        for name, inside in parts.items():
            verdicts = counted(inside, told["protocol"])
            (part,) = [each for each in system["parts"] if each["part"] == name]
            figures = {**part, **part["estimates"]}
            assert figures["questions"] == len(inside)
            assert figures["sessions"] == len(sessions(inside))
            for label, wanted in (
                ("accuracy", "correct"),
                ("missing", "missing"),
                ("hallucination", "incorrect"),
            ):
                assert figures[label]["value"] == pytest.approx(verdicts.count(wanted) / len(verdicts))
            truthfulness = sum(POINTS[each] for each in verdicts) / len(verdicts)
            assert figures["truthfulness"]["value"] == pytest.approx(truthfulness)
            for label in ("accuracy", "truthfulness", "elapsed_mean_ms", "elapsed_p95_ms"):
                assert figures[label]["low"] <= figures[label]["value"] <= figures[label]["high"]


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
        assert system["refusals"]["answerable"] == sum(record.answerable for record in records)
        timid = [r for r, said in zip(records, verdicts, strict=True) if r.answer and said == "missing"]
        assert system["refusals"]["timid"] == sum(record.answerable for record in timid)
        assert all(one["coverage"] <= two["coverage"] for one, two in pairwise(curve["points"]))
