"""report.json against the scores of the runs' records."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evaluation.commands.report import write_report
from evaluation.judging.text import APPROXIMATE
from evaluation.judging.verdicts import Verdict
from evaluation.runs.store import load_run
from evaluation.scoring.measures import scores_of
from evaluation.scoring.protocols import Protocol, Scored, score_records
from tests.unit.evaluation.reporting.generated import Skill, questions, run, written

WRONG = Verdict.INCORRECT
SKILLS = (Skill("careful", 0.3, 0.6), Skill("bold", 0.45, 0.1, 2.0), Skill("plain", 0.5, 0.3))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("runs")
    every_question = questions(45, seed=4)
    return [written(run(skill, every_question), root / skill.name) for skill in SKILLS]


@pytest.fixture(scope="module", params=list(Protocol))
def report(
    request: pytest.FixtureRequest, folders: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    out = tmp_path_factory.mktemp("report")
    protocol: Protocol = request.param
    write_report(folders, out, judge="rules", protocol=protocol, cut=APPROXIMATE, made_at=0.0)
    report = json.loads((out / "report.json").read_text())
    assert report["protocol"] == protocol.value
    return report


def scored_of(folder: Path) -> list[Scored]:
    return score_records(load_run(folder).records, folder, "rules")[0]


def test_rates_follow_the_protocol_with_intervals(report: Any, folders: list[Path]) -> None:
    for system, folder in zip(report["systems"], folders, strict=True):
        assert [part["part"] for part in system["parts"]] == ["single", "multi", "all"]
        for part in system["parts"]:
            inside = [each for each in scored_of(folder) if part["part"] in (each.record.part.value, "all")]
            assert part["questions"] == len(inside)
            scores = scores_of(inside, Protocol(report["protocol"]))
            assert len(part["estimates"].keys() & scores.keys()) >= 5
            for name in part["estimates"].keys() & scores.keys():
                figure = part["estimates"][name]
                assert figure["value"] == pytest.approx(scores[name])
                assert figure["low"] <= figure["value"] + 1e-9
                assert figure["value"] - 1e-9 <= figure["high"]


def test_times_cover_received_answers(report: Any, folders: list[Path]) -> None:
    for system, folder in zip(report["systems"], folders, strict=True):
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


def test_slices_partition_the_questions(report: Any, folders: list[Path]) -> None:
    by_name = {cut["name"]: cut for cut in report["slices"]}
    for name in ("domain", "query_category", "dynamism", "image_quality"):
        for skill, folder in zip(SKILLS, folders, strict=True):
            scored = scored_of(folder)
            cells = {value: cells[skill.name] for value, cells in by_name[name]["slices"].items()}
            assert sum(cell["count"] for cell in cells.values()) == len(scored)
            for value, cell in cells.items():
                inside = [each for each in scored if getattr(each.record, name) == value]
                verdicts = [each.verdict(Protocol(report["protocol"])) for each in inside]
                assert cell["count"] == len(verdicts)
                assert cell["hallucination"] == pytest.approx(verdicts.count(WRONG) / len(verdicts))
                assert cell["truthfulness"] == pytest.approx(sum(v.points for v in verdicts) / len(verdicts))


def test_operating_point_covers_given_answers(report: Any, folders: list[Path]) -> None:
    for system, folder in zip(report["systems"], folders, strict=True):
        scored, curve = scored_of(folder), system["curve"]
        verdicts = [each.verdict(Protocol(report["protocol"])) for each in scored]
        answered = sum(each is not Verdict.MISSING for each in verdicts)
        assert curve["coverage"] == pytest.approx(answered / len(scored))
        assert curve["hallucination"] == pytest.approx(verdicts.count(WRONG) / len(scored))
