"""The README's first command."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.demo import (  # fmt: skip
    NOT_KNOWN,
    READY_CHECKS,
    RIGHT,
    WRONG,
    Asked,
    failed,
    judged,
    loreglass_command,
    next_steps,
    summary,
    until_ready,
)
from evaluation.data.model import AnswerType, AskedTurn, Truth
from loreglass_client import AsyncLoreglass, LoreglassError
from loreglass_client.errors import DeadlineExceeded, Internal, NotReady, Overloaded, Unreachable
from loreglass_client.models import Answer, Citation, CitationKind, Health, Reason, Route

ROOT = Path(__file__).parents[2]
CITED = Citation(title="The menu", url="", snippet="Soup 4", score=1.0, kind=CitationKind.PHOTO)


def turn(kind: AnswerType = AnswerType.NAME) -> AskedTurn:
    truth = Truth(interaction_id="q1", answer_type=kind, accepted=("Ada Lovelace",))
    return AskedTurn("q1", "who wrote this?", "Ada Lovelace.", truth=truth)


def reply(text: str, *, abstained: bool = False, citations: Sequence[Citation] = (CITED,)) -> Answer:
    reason = Reason.MODEL_UNSURE if abstained else Reason.ANSWERED
    return Answer(
        answer=text,
        abstained=abstained,
        reason=reason,
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
    ("answer", "kind", "mark"),
    [
        (reply("Ada Lovelace wrote it."), AnswerType.NAME, RIGHT),
        (reply("Ada Lovelace wrote it.", citations=()), AnswerType.NAME, WRONG),
        (reply("Charles Babbage wrote it."), AnswerType.NAME, WRONG),
        (reply("I don't know.", abstained=True, citations=()), AnswerType.NAME, NOT_KNOWN),
        (reply("I don't know.", abstained=True, citations=()), AnswerType.UNANSWERABLE, RIGHT),
        (reply("Ada Lovelace wrote it."), AnswerType.UNANSWERABLE, WRONG),
    ],
)
def test_an_answer_must_be_right_and_cite_a_source_and_a_refusal_is_never_wrong(
    answer: Answer, kind: AnswerType, mark: str
) -> None:
    assert judged("q1.jpg", turn(kind), answer).mark == mark


@pytest.mark.parametrize(
    ("error", "mark"),
    [
        (DeadlineExceeded(), NOT_KNOWN),
        (Overloaded(), NOT_KNOWN),
        (Internal(), WRONG),
        (Unreachable(), WRONG),
    ],
)
def test_a_slow_request_is_not_answered_and_any_other_error_is_a_failure(
    error: LoreglassError, mark: str
) -> None:
    assert failed("q1.jpg", turn(), error).mark == mark


def test_the_summary_counts_the_answers_and_names_each_failure() -> None:
    rows = [
        judged("q1.jpg", turn(), reply("Ada Lovelace.")),
        failed("q2.jpg", turn(), DeadlineExceeded()),
        failed("q3.jpg", turn(), Internal("A fault.")),
    ]
    assert list(summary(rows)) == [
        "3 questions: 1 correct (✓), 1 not answered (?), 1 wrong or failed (✗).",
        '✗ q3.jpg, "who wrote this?": A fault.',
    ]


class Starting(AsyncLoreglass):
    """A gateway that is ready at the given try."""

    def __init__(self, ready_at: int) -> None:
        super().__init__("http://127.0.0.1:1")
        self.tries, self._ready_at = 0, ready_at

    async def ready(self) -> Health:
        self.tries += 1
        if self.tries < self._ready_at:
            raise NotReady("image_search")
        return Health(status="ok")


@pytest.mark.anyio
async def test_the_demo_waits_until_the_platform_is_ready() -> None:
    async with Starting(ready_at=3) as client:
        await until_ready(client, pause_s=0)
    assert client.tries == 3


@pytest.mark.anyio
async def test_a_platform_that_does_not_become_ready_is_an_error() -> None:
    async with Starting(ready_at=READY_CHECKS + 1) as client:
        with pytest.raises(NotReady):
            await until_ready(client, pause_s=0)


def test_the_command_is_called_by_its_path_where_it_is_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = tmp_path / ".venv" / "bin"
    scripts.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert loreglass_command() == f"{scripts / 'python'} -m loreglass"
    (scripts / "loreglass").touch()
    assert loreglass_command() == ".venv/bin/loreglass"
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert loreglass_command() == "loreglass"


def test_the_last_lines_are_commands_that_name_a_photo_of_the_sample() -> None:
    first = Asked("q1.jpg", turn(), None, "", NOT_KNOWN)
    commands = [line.strip() for line in next_steps(first, ".venv/bin/loreglass") if line.startswith(" ")]
    assert all(command.startswith(".venv/bin/loreglass ") for command in commands)
    assert commands[-1].endswith('photos/q1.jpg "who wrote this?"')
