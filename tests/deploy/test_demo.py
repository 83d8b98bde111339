"""The README's first command."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.demo import NOT_KNOWN, RIGHT, WRONG, failure_of, judge, summary
from deploy.photographs import PAGES, Question, write_photographs
from loreglass_client.errors import DeadlineExceeded, Internal, Overloaded, Unreachable
from loreglass_client.models import Answer, Citation, CitationKind, Reason, Route

ROOT = Path(__file__).parents[2]
CITED = Citation(title="The menu", url="", snippet="Soup 4", score=1.0, kind=CitationKind.PHOTO)
PHOTO = Path("q1.jpg")
KNOWN = Question("who wrote this?", ("Ada Lovelace",))
UNKNOWN = Question("who wrote this?", ())


def reply(text: str, *, abstained: bool = False, citations: Sequence[Citation] = (CITED,)) -> Answer:
    return Answer(
        answer=text,
        abstained=abstained,
        reason=Reason.MODEL_UNSURE if abstained else Reason.ANSWERED,
        confidence=0.9,
        route=Route.RAG,
        citations=list(citations),
        trace_id="t",
        session_id="s",
    )


@pytest.mark.slow
def test_the_demo_shows_its_table_and_ends_with_zero(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "loreglass", "demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}", "COLUMNS": "160"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong or failed" in done.stdout
    assert "loreglass serve" in done.stdout


@pytest.mark.parametrize(
    ("answer", "question", "mark"),
    [
        (reply("Ada Lovelace wrote it."), KNOWN, RIGHT),
        (reply("Ada Lovelace wrote it.", citations=()), KNOWN, WRONG),
        (reply("Charles Babbage wrote it."), KNOWN, WRONG),
        (reply("I don't know.", abstained=True, citations=()), KNOWN, NOT_KNOWN),
        (reply("I don't know.", abstained=True, citations=()), UNKNOWN, RIGHT),
        (reply("Ada Lovelace wrote it."), UNKNOWN, WRONG),
    ],
)
def test_demo_marks_answers_and_refusals(answer: Answer, question: Question, mark: str) -> None:
    assert judge(PHOTO, question, answer).mark == mark


def test_summary_counts_timeouts_and_lists_other_failures() -> None:
    errors = (DeadlineExceeded(), Overloaded(), Unreachable("No gateway."), Internal("A fault."))
    rows = [judge(PHOTO, KNOWN, reply("Ada Lovelace.")), *(failure_of(PHOTO, KNOWN, each) for each in errors)]
    assert list(summary(rows)) == [
        "5 questions: 1 correct (✓), 2 not answered (?), 2 wrong or failed (✗).",
        '✗ q1.jpg, "who wrote this?": No gateway.',
        '✗ q1.jpg, "who wrote this?": A fault.',
    ]


def test_questions_use_other_photos_than_the_index(tmp_path: Path) -> None:
    indexed, talks = write_photographs(tmp_path)
    known = {photo.read_bytes() for photo in indexed.iterdir()}
    assert len(known) == len(list(PAGES.glob("*.md")))
    assert all(talk.photo.read_bytes() not in known for talk in talks)
    assert sum(len(talk.questions) for talk in talks) == 8
    assert any(not question.accepted for talk in talks for question in talk.questions)


def test_missing_photo_package_is_reported_with_install_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.photographs.find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="pip install --no-deps scikit-image"):
        write_photographs(tmp_path)
