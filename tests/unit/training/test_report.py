"""The training report and its warnings."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from evaluation.judging.verdicts import Judgement, Verdict
from training.cli import app
from training.commands.train import open_run
from training.config import Settings
from training.report import JudgedPrediction, common_abstention, scores, truthfulness_at
from training.runs import AFTER, BEFORE, METRICS, Prediction, Rollout, RunFolder
from training.samples import RejectedRow, Task

IDK = "I don't know."
GOLDS = ("Paris", "Rome", "Oslo", "Lima", "Bern", "Cairo", "Quito", "Delhi")
WRONG = "Atlantis"
Said = tuple[str, float | None]


MANY = 40
"""So many that nobody is told that they are few."""


def predictions(said: Sequence[Said], task: Task = Task.ANSWER, **more: Any) -> list[Prediction]:
    """Of questions whose golds are `GOLDS`, in order, each asked so often that shares mean something."""
    return [
        Prediction(
            sample=f"sample {number} {again}",
            task=task,
            question=f"Which city is number {number}?",
            said=text,
            gold=gold,
            label=gold,
            confidence=sure,
            **more,
        )
        for number, ((text, sure), gold) in enumerate(zip(said, GOLDS, strict=False))
        for again in range(1 + MANY // len(said))
    ]


def run_of(folder: Path, before: list[Prediction], after: list[Prediction], **summary: Any) -> RunFolder:
    run = RunFolder(folder, say=lambda _: None)
    run.begin("seed: 0\n")
    lines = [{"step": step, "seconds": step, "loss": 3 / step} for step in range(1, 6)]
    run.write(METRICS, "".join(f"{json.dumps(line)}\n" for line in lines))
    for when, text in ((BEFORE, before), (AFTER, after)):
        if text:
            run.write_predictions(when, text)
    run.finish({"kind": "sft", "model": "tiny", "samples": {"answer": 40}, "held_out": len(after)} | summary)
    return run


def reported(*runs: RunFolder, out: Path | None = None) -> tuple[str, str]:
    """The page and its warnings, which the command says too."""
    given = [] if out is None else ["--out", str(out)]
    result = CliRunner().invoke(app, ["report", *(str(run.path) for run in runs), *given])
    assert result.exit_code == 0, result.output
    page = (out or runs[0].path / "report.md").read_text("utf-8")
    return page, result.stderr


def judged(points: float, sure: float) -> JudgedPrediction:
    verdict = {1: Verdict.CORRECT, 0: Verdict.MISSING, -1: Verdict.INCORRECT}[int(points)]
    prediction = Prediction(sample="s", task=Task.ANSWER, said="x", confidence=sure)
    return JudgedPrediction(prediction, Judgement(verdict, ""))


POINTS = st.lists(
    st.tuples(st.sampled_from([1, 0, -1]), st.floats(0.001, 1)),
    min_size=1,
    max_size=20,
    unique_by=lambda told: told[1],
)


@given(POINTS)
def test_truthfulness_at_own_refusal_share(told: list[tuple[int, float]]) -> None:
    answers = [judged(*each) for each in told]
    own = sum(each.refused for each in answers) / len(answers)
    assert truthfulness_at(own, answers) == pytest.approx(sum(points for points, _ in told) / len(told))
    assert truthfulness_at(1.0, answers) == 0


@given(POINTS)
def test_refusing_the_least_sure_gains_nothing(told: list[tuple[int, float]]) -> None:
    before = [judged(points, sure) for points, sure in told]
    silenced = sorted(before, key=lambda each: each.prediction.confidence or 0)[: len(before) // 2]
    after = [judged(0, each.prediction.confidence or 0) if each in silenced else each for each in before]
    share = common_abstention(before, after)
    assert share is not None
    assert truthfulness_at(share, after) == pytest.approx(truthfulness_at(share, before))


def test_lists_are_compared_by_numbers() -> None:
    def alike(said: str, label: str) -> float | None:
        prediction = Prediction(sample="s", task=Task.RERANK, said=said, label=label)
        return scores(Task.RERANK, [JudgedPrediction(prediction)]).get("alike")

    assert alike('{"relevant": [1, 3]}', '{"relevant": [3, 1]}') == 1
    assert alike("relevant: none", "relevant: none") == 1
    assert alike("I cannot do it.", "relevant: none") == 0
    assert alike("relevant: 1", "relevant: none") != 1
    assert alike("9" * 5000, "[2]") == 0
    assert alike("[1, 2]", "[2]") == pytest.approx(2 / 3)


def test_gain_by_silence_is_reported(tmp_path: Path) -> None:
    before = predictions([("Paris", 0.9), ("Rome", 0.8), (WRONG, 0.3), (WRONG, 0.2), (WRONG, 0.1)])
    silent = predictions([("Paris", 0.9), ("Rome", 0.8), (IDK, 0.9), (IDK, 0.9), (IDK, 0.9)])
    learnt = predictions([("Paris", 0.9), ("Rome", 0.8), ("Oslo", 0.9), (IDK, 0.9), (IDK, 0.9)])
    page, warned = reported(run_of(tmp_path / "silent", before, silent))
    assert "gained by silence" in warned
    assert page.index("gained by silence") < page.index("| before | after |")
    assert "truthfulness, 60% refused on both sides" in page
    assert reported(run_of(tmp_path / "learnt", before, learnt))[1] == ""


def test_few_samples_are_reported(tmp_path: Path) -> None:
    replies = predictions([("Paris", 0.9)])
    _, warned = reported(run_of(tmp_path / "few", replies[:2], replies[:2]))
    assert "only 2 held-out samples" in warned
    page, _ = reported(run_of(tmp_path / "after alone", [], predictions([(IDK, 0.9)])))
    assert "| answer | refused | 41 | – | 100.0% |" in page
    _, warned = reported(run_of(tmp_path / "none", [], []))
    assert "nothing measures the training" in warned


def test_form_and_tool_calls_are_measured_and_unknown_confidence_is_not(tmp_path: Path) -> None:
    texts: list[Said] = [("Paris", None), (WRONG, None)]
    before = predictions(texts, Task.QUESTION, calls=1, in_form=False)
    after = predictions(texts, Task.QUESTION, calls=0, in_form=True)
    page, _ = reported(run_of(tmp_path / "run", before, after, kind="grpo", questions=4))
    assert "| question | in the required form | 42 | 0.0% | 100.0% |" in page
    assert "| question | calls a tool | 42 | 100.0% | 0.0% |" in page
    assert "refused on both sides" not in page


def test_uniform_or_failed_rollouts_are_reported(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [], [], kind="grpo", questions=4)
    rewards = {"answer": 0.0, "tool_format": 1.0}
    failed = Rollout(
        step=0, sample="s", question="Which?", plan="p", rewards=rewards, failed=("image_search",)
    )
    run.add_rollouts([failed] * 4)
    _, warned = reported(run)
    assert "In 1 of 1 groups all rollouts earned the same" in warned
    assert "In 4 of 4 rollouts a service failed" in warned


def test_skipped_rows_are_counted_on_the_page(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [], [])
    run.leave_out([RejectedRow(where="answer.jsonl, line 4", why="its photo photos/4.png is missing")] * 41)
    page, warned = reported(run)
    assert "41 rows were left out (see left-out.jsonl), and 40 were learnt from" in warned
    assert warned.partition(": ")[2].splitlines()[0] in page


def test_page_of_several_runs_needs_a_name(tmp_path: Path) -> None:
    replies = predictions([("Paris", 0.9)])
    runs = [run_of(tmp_path / name, replies, replies) for name in ("first", "second")]
    page, _ = reported(*runs, out=tmp_path / "both.md")
    assert page.count("| before | after |") == 2
    refused = CliRunner().invoke(app, ["report", *(str(run.path) for run in runs)])
    assert refused.exit_code == 2
    assert "--out" in refused.output


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rollouts.jsonl", '{"step": 1}\n'),
        ("left-out.jsonl", '{"where": "x"}\n'),
        ("summary.json", '{"kind": "sft", "samples": {"a": "b"}}'),
        ("predictions-after.jsonl", '{"sample": "s", "task": "answer", "said": "", "truth": {"x": 1}}\n'),
    ],
)
def test_broken_folder_is_refused(tmp_path: Path, name: str, text: str) -> None:
    run = run_of(tmp_path / "run", [], [])
    (run.path / name).write_text(text)
    result = CliRunner().invoke(app, ["report", str(run.path)])
    assert (result.exit_code, type(result.exception)) == (1, SystemExit)
    assert result.stderr.strip().endswith(".") or text.strip() in result.stderr


def test_main_process_alone_writes_and_restarts_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened_by(main: bool) -> RunFolder:
        monkeypatch.setattr("training.trainers.on_main", lambda: main)
        return open_run(tmp_path / "run", Settings())

    def write_everything(run: RunFolder) -> None:
        run.log(1, {"loss": 1.0})
        run.add_rollouts([Rollout(step=0, sample="s", rewards={})])
        run.leave_out([RejectedRow(where="line 1", why="it is broken")])
        run.write_predictions(AFTER, [])
        run.finish({"kind": "sft"})

    main, other = (opened_by(each) for each in (True, False))
    write_everything(other)
    assert {path.name for path in main.path.iterdir()} == {"config.yaml"}
    write_everything(main)
    other.go_on_after(0)
    assert (len(main.metrics()), len(main.rollouts())) == (1, 1)
    main.go_on_after(0)  # as if the run was killed before its first checkpoint
    assert (main.metrics(), main.rollouts()) == ([], [])
