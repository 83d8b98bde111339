"""`loreglass eval judge` and `loreglass eval agreement`."""

import json
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from typer.testing import CliRunner, Result

from evaluation.cli import app
from evaluation.judging.verdicts import Verdict, verdict_file
from evaluation.record import RunHeader
from evaluation.runs.store import RunStore
from tests.unit.evaluation.judging.scripted_judge import ScriptedJudge, case_in, marks, refuses, serving
from tests.unit.evaluation.scoring.predictions import turn_record

SAID = (
    "312",
    "It has 200 pages.",
    "I don't know.",
    "I don’t know.",
    None,
    "It has 312 pages.",
    "[red]312\x1b[2J",
)


def a_run(folder: Path, text: tuple[str | None, ...] = SAID) -> Path:
    with RunStore(folder, RunHeader(name=folder.name, dataset="d", fingerprint="f")) as store:
        for number, answer in enumerate(text):
            store.add(turn_record(answer, session=f"s{number}"))
    return folder


def typed(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


async def judged_by(judge: ScriptedJudge, *runs: Path, model: str = "m", times: int = 1) -> Result:
    async with serving(judge) as url:
        for _ in range(times):
            words = ("judge", *runs, "--judge", "model", "--base-url", url, "--model", model)
            reply = await anyio.to_thread.run_sync(partial(typed, *words))
    return reply


def by_id(path: Path) -> dict[str, Verdict]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["interaction_id"]: Verdict(row["verdict"]) for row in rows}


def test_rule_judge_stores_its_verdicts_with_the_run(tmp_path: Path) -> None:
    run = a_run(tmp_path / "loreglass")
    for _ in range(2):
        reply = typed("judge", run)
        assert reply.exit_code == 0, reply.output
    assert "loreglass, judged by rules: correct 3, incorrect 1, missing 3." in reply.output
    assert by_id(verdict_file(run, "rules"))["s0.0"] is Verdict.CORRECT
    assert len(verdict_file(run, "rules").read_text().splitlines()) == len(SAID)


def test_unwritable_verdicts_are_refused_with_a_sentence(tmp_path: Path) -> None:
    run = a_run(tmp_path / "loreglass")
    (run / "verdicts").write_text("", encoding="utf-8")
    reply = typed("judge", run)
    assert (reply.exit_code, type(reply.exception)) == (1, SystemExit)
    assert "cannot be written: " in reply.output


async def test_model_judge_is_asked_once_per_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGLASS_JUDGE_KEY", "sesame")
    runs = [a_run(tmp_path / "a"), a_run(tmp_path / "b", (*SAID[:5], "blue"))]
    judge = ScriptedJudge(lambda body, _: marks("312" in case_in(body)["answer"]))
    reply = await judged_by(judge, *runs, model="org/m", times=2)
    assert reply.exit_code == 0, reply.output
    assert sorted(case_in(body)["answer"] for body in judge.requests) == sorted(
        ["312", "It has 200 pages.", "I don’t know.", "[red]312\x1b[2J", "blue"]
    )
    assert set(judge.keys) == {"Bearer sesame"}
    assert "b, judged by model:org/m: correct 1, incorrect 3, missing 2." in reply.output
    right, wrong, missing = Verdict.CORRECT, Verdict.INCORRECT, Verdict.MISSING
    expected = (right, wrong, missing, wrong, missing, right, right)
    assert by_id(verdict_file(runs[0], "model:org/m")) == {f"s{n}.0": each for n, each in enumerate(expected)}


async def test_partly_failed_judge_exits_with_1(tmp_path: Path) -> None:
    run = a_run(tmp_path / "a", ("1 page", "2 pages"))
    judge = ScriptedJudge(lambda body, _: refuses(401) if "2" in case_in(body)["answer"] else marks(True))
    reply = await judged_by(judge, run)
    assert reply.exit_code == 1
    assert "model:m gave no verdict on 1 of 2 answers" in reply.output


def test_agreement_compares_answers_that_both_judges_decided(tmp_path: Path) -> None:
    run = a_run(tmp_path / "a")
    labels = tmp_path / "labels.csv"
    labels.write_text("interaction_id,label\ns0.0,perfect\ns1.0,perfect\ns2.0,missing\ns6.0,incorrect\n")
    reply = typed("judge", run, "--judge", "human", "--labels", labels)
    assert "judged by human: correct 2, incorrect 1, missing 1" in reply.output
    reply = typed("agreement", run, "--between", "rules", "human")
    assert reply.exit_code == 0, reply.output
    decided = "those that a judge decides: 3"
    for expected in ("all answers: 4, equal 50.0%", decided, "It has 200 pages.", "[red]312"):
        assert expected in reply.output
    assert "\x1b[2J" not in reply.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["judge", "{none}"], "none"),
        (["judge", "{run}", "--judge", "model"], "LOREGLASS_JUDGE_URL"),
        (["judge", "{run}", "--judge", "human"], "--labels"),
        (["judge", "{run}", "--tokenizer", "{none}"], "tokenizer.json of a model"),
        (["agreement", "{run}", "--between", "rules", "model:m"], "--judge model --model m"),
        (["gold", "--judge", "human"], "people's verdicts"),
        (["agreement", "{run}", "--between", "rules", "human", "--protocol", "x"], "crag-mm-2026"),
    ],
)
def test_missing_settings_or_runs_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: str
) -> None:
    for name in ("URL", "MODEL", "KEY"):
        monkeypatch.delenv(f"LOREGLASS_JUDGE_{name}", raising=False)
    run = a_run(tmp_path / "run")
    reply = typed(*(word.format(run=run, none=tmp_path / "none") for word in words))
    assert reply.exit_code in {1, 2}
    assert expected in reply.output.replace("\n", " ").replace("│", " ")
    assert "Traceback" not in reply.output
