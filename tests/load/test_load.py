"""The load test: what it refuses, its objectives, and locust before a real platform and a bad gateway."""

import io
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageOps

from bench.generator import Reply
from bench.load.contract import ContractBroken, Expected, read_reply, reply_to, request_name, verdicts
from bench.load.conversations import INDEX, Conversation, conversations, signs
from bench.settings import ROOT, environment
from contracts.answer import Answer, Citation, CitationKind, Reason, Route
from tests.journey.deployments import OneProcess
from tests.loopback import loopback
from tests.unit.chassis.pictures import encoded

JSON, EVENTS = "application/json", "text/event-stream"
SESSION = "s" * 32
CITED = Citation(title="the photo", url="", snippet="Gate B12", score=1.0, kind=CitationKind.PHOTO)
ANSWER = Answer(
    answer="It is gate B12.",
    abstained=False,
    reason=Reason.ANSWERED,
    confidence=0.9,
    route=Route.DIRECT,
    citations=[CITED],
    timings_ms={"ocr": 300.0, "total": 400.0},
    trace_id="0" * 32,
    session_id=SESSION,
)


def stream(*events: tuple[str, Any]) -> Answer | Reply:
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    return read_reply(200, {"content-type": EVENTS}, text.encode(), Expected())


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"session_id": "t" * 32}, Expected(SESSION)),
        ({}, Expected(SESSION, frozenset({"gate b12"}))),
        ({"abstained": True}, Expected()),
        ({"reason": Reason.NO_EVIDENCE}, Expected()),
        ({"timings_ms": {}}, Expected()),
        ({"answer": " "}, Expected()),
    ],
)
def test_an_answer_that_contradicts_itself_or_its_session_is_refused(
    change: dict[str, Any], expected: Expected
) -> None:
    content = ANSWER.model_copy(update=change).model_dump_json().encode()
    with pytest.raises(ContractBroken):
        read_reply(200, {"Content-Type": JSON}, content, expected)


def test_a_503_needs_retry_after() -> None:
    kind, title = "urn:loreglass:problem:overloaded", "busy"
    body = json.dumps({"type": kind, "title": title, "status": 503, "detail": "so"}).encode()
    headers = {"content-type": "application/problem+json"}
    assert read_reply(503, {**headers, "Retry-After": "2"}, body, Expected()) == Reply(503, "overloaded")
    with pytest.raises(ContractBroken):
        read_reply(503, headers, body, Expected())


FINAL = ("final", ANSWER.model_dump(mode="json"))
QUOTE, WORDS = ("citation", CITED.model_dump(mode="json")), ("token", {"text": ANSWER.answer})


def test_consistent_stream_equals_its_answer() -> None:
    stage = ("stage", {"stage": "ocr", "state": "done", "ms": 3.0})
    words = (("token", {"text": "It is "}), ("token", {"text": "gate B12."}))
    assert stream(stage, QUOTE, *words, FINAL) == ANSWER


@pytest.mark.parametrize(
    "events", [(WORDS, FINAL), (QUOTE, FINAL), (QUOTE, WORDS), (QUOTE, WORDS, FINAL, WORDS)]
)
def test_inconsistent_stream_is_refused(events: tuple[tuple[str, Any], ...]) -> None:
    with pytest.raises(ContractBroken):
        stream(*events)


@pytest.mark.parametrize(
    ("reply", "ms", "trouble", "objectives"),
    [
        (reply_to(ANSWER), 500, "", set()),
        (Reply(503, "overloaded"), 5, "", {"turned away"}),
        (Reply(0), 5, "", {"errors"}),
        (Reply(404, "session_not_found"), 5, "", {"accepted"}),
        (Reply(200, "timed_out"), 9_000, "", {"deadline"}),
        (reply_to(ANSWER), 10_501, "", {"in time", "deadline"}),
        (reply_to(ANSWER), 500, "It is empty.", {"contract"}),
    ],
)
def test_one_percent_of_bad_replies_misses_the_objective(
    reply: Reply, ms: float, trouble: str, objectives: set[str]
) -> None:
    counts = Counter([request_name(reply, ms, 10_500, trouble), *["full"] * 99])
    assert {each.name for each in verdicts(counts) if not each.held} == objectives


def test_conversations_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"jpeg")
    rows = [
        {"photo": "a.jpg", "turns": ["what is it?", "and who made it?"], "mark": "Gate B12"},
        {"photo": "a.jpg", "turns": ["who painted it?"], "impossible": True},
    ]
    (tmp_path / INDEX).write_text("\n".join(map(json.dumps, rows)))
    assert conversations(str(tmp_path)) == [
        Conversation(b"jpeg", ("what is it?", "and who made it?"), mark="Gate B12"),
        Conversation(b"jpeg", ("who painted it?",), impossible=True),
    ]


PATIENCE_S = 120


def locust(host: str, folder: Path, conversations: Sequence[Conversation], *options: str) -> tuple[int, str]:
    """Run two users for a few seconds; return the exit status and the log."""
    rows = []
    for place, each in enumerate(conversations):
        (folder / f"{place}.jpg").write_bytes(each.photo)
        rows.append({"photo": f"{place}.jpg", "turns": each.turns, "impossible": each.impossible})
    (folder / INDEX).write_text("\n".join(map(json.dumps, rows)))
    command = [sys.executable, "-m", "locust", "-f", "bench/load/locustfile.py", "--headless"]
    command += [f"--host={host}", "--users=2", "--spawn-rate=2", "--wearers-think=0.2"]
    command += [f"--wearers-material={folder}", f"--html={folder / 'report.html'}", *options]
    run = subprocess.run(
        command, cwd=ROOT, env=environment({}), capture_output=True, timeout=PATIENCE_S, text=True
    )
    return run.returncode, run.stdout + run.stderr


def missed_in(log: str) -> set[str]:
    return set(re.findall("missed ([a-z ]+):", log))


def small(each: Conversation) -> Conversation:
    """The conversation about a photo that a busy machine reads soon."""
    with Image.open(io.BytesIO(each.photo)) as picture:
        jpeg = encoded(ImageOps.exif_transpose(picture).resize((360, 480)), "JPEG")
    return Conversation(jpeg, each.turns, each.impossible)


@pytest.mark.slow
def test_running_platform_meets_the_objectives(tmp_path: Path) -> None:
    platform = OneProcess(tmp_path / "data")
    platform.start()
    try:
        options = ("--run-time=4s", "--wearers-deadline-ms=40000")
        status, log = locust(platform.gateway_url, tmp_path, list(map(small, signs())), *options)
    finally:
        platform.stop()
    assert status == 0, log
    assert not missed_in(log)
    assert "held   questions:" in log
    assert "Locust Test Report" in (tmp_path / "report.html").read_text()


def test_a_gateway_that_misses_objectives_ends_the_run_with_1(tmp_path: Path) -> None:
    talk = Conversation(b"a photo", ("what is it?", "and what else?"))
    with loopback(BaseHTTPRequestHandler) as refusing:
        status, log = locust(refusing, tmp_path, [talk], "--run-time=2s")
    assert status == 1
    assert {"questions", "contract"} <= missed_in(log)
