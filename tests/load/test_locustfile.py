"""The locustfile, run by locust in a process of its own, before a real platform and before bad gateways."""

import io
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import pytest
from PIL import Image, ImageOps

from bench.settings import ROOT, environment
from bench.wearers.material import Conversation, plain, write
from bench.wearers.records import Asked, Fate, Results
from contracts.answer import Answer, Reason, Route
from tests.journey.deployments import OneProcess

PATIENCE_S = 120


@dataclass(frozen=True)
class QuestionRecord:
    """What a run of locust left behind."""

    status: int
    log: str
    report: str
    results: Results

    @property
    def missed(self) -> set[str]:
        return {verdict.name for verdict in self.results.verdicts if not verdict.held}


def locust(host: str, folder: Path, *options: str) -> QuestionRecord:
    """Two wearers for a few seconds."""
    results, report = folder / "results.json", folder / "report.html"
    command = [
        sys.executable,
        "-m",
        "locust",
        "-f",
        "bench/wearers/locustfile.py",
        "--headless",
        f"--host={host}",
    ]
    command += ["--users=2", "--spawn-rate=2", "--wearers-think=0.2", "--wearers-streams=0.5"]
    command += [f"--wearers-results={results}", f"--html={report}", *options]
    run = subprocess.run(
        command,
        cwd=ROOT,
        env=environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
        text=True,
    )
    assert results.exists(), run.stdout
    return QuestionRecord(run.returncode, run.stdout, report.read_text(), Results.read(results))


def small_signs() -> list[Conversation]:
    """The plain photos at a size that a busy machine reads soon."""
    return [replace(each, photo=_scaled(each.photo)) for each in plain()]


def _scaled(photo: bytes) -> bytes:
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(photo)) as picture:
        ImageOps.exif_transpose(picture).resize((360, 480)).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.mark.slow
def test_wearers_before_a_real_platform_hold_the_objectives(tmp_path: Path) -> None:
    write(small_signs(), tmp_path / "signs")
    options = [f"--wearers-material={tmp_path / 'signs'}", "--run-time=4s"]
    options += ["--wearers-deadline-ms=40000", "--wearers-transport-ms=5000"]
    platform = OneProcess(tmp_path / "data")
    platform.start()
    try:
        ended = locust(platform.gateway_url, tmp_path, *options)
    finally:
        platform.stop()
    assert ended.status == 0, ended.log
    assert not ended.missed
    assert any(record.timings_ms for record in ended.results.records)
    assert "Locust Test Report" in ended.report


SESSION = "s" * 32
GOOD = Answer(
    answer="It is a sign.",
    abstained=False,
    reason=Reason.ANSWERED,
    confidence=0.9,
    route=Route.DIRECT,
    timings_ms={"total": 1.0},
    trace_id="0" * 32,
    session_id=SESSION,
)
Headers = dict[str, str]
Fake = Callable[[bytes], tuple[int, Headers, bytes]]


def answering(answer: Answer) -> Fake:
    """Streams where it is asked to, as a gateway does."""
    body = answer.model_dump_json()
    token = json.dumps({"text": answer.answer})

    def reply(accept: bytes) -> tuple[int, Headers, bytes]:
        if accept == b"text/event-stream":
            events = f"event: token\ndata: {token}\n\nevent: final\ndata: {body}\n\n"
            return 200, {"Content-Type": "text/event-stream"}, events.encode()
        return 200, {"Content-Type": "application/json"}, body.encode()

    return reply


def refusing(status: int, kind: str, **headers: str) -> Fake:
    """The same problem to everybody."""
    problem = {"type": f"urn:loreglass:problem:{kind}", "title": kind, "status": status, "detail": "No."}
    told = (status, {"Content-Type": "application/problem+json", **headers}, json.dumps(problem).encode())
    return lambda _: told


def in_turn(*fakes: Fake) -> Fake:
    """Another one for each question."""
    turns, lock = itertools.cycle(fakes), Lock()

    def reply(accept: bytes) -> tuple[int, Headers, bytes]:
        with lock:
            fake = next(turns)
        return fake(accept)

    return reply


class Gateway(ThreadingHTTPServer):
    """Says what its `fake` says to every question, and 204 to who wants to be forgotten."""

    daemon_threads = True

    def __init__(self, fake: Fake) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fake = fake

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gateway

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(*self.server.fake(self.headers.get("Accept", "").encode()))

    def do_DELETE(self) -> None:
        self._send(204, {}, b"")

    def do_GET(self) -> None:
        self._send(200, {"Content-Type": "text/plain"}, b"process_resident_memory_bytes 1e8\n")

    def log_message(self, format: str, *args: object) -> None:
        """Not to the tests' output."""

    def _send(self, status: int, headers: Headers, body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """A gateway that is nothing but its replies; good until told otherwise."""
    server = Gateway(answering(GOOD))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def material(tmp_path: Path) -> str:
    """One small conversation."""
    write([Conversation(b"a photo", ("what is it?", "and what else?"))], tmp_path / "material")
    return f"--wearers-material={tmp_path / 'material'}"


def test_a_gateway_that_misses_objectives_is_told_so(gateway: Gateway, material: str, tmp_path: Path) -> None:
    gateway.fake = in_turn(
        answering(GOOD),
        refusing(500, "internal"),
        refusing(503, "overloaded", Retry_After="1"),
        refusing(404, "session_not_found"),
        lambda _: (200, {"Content-Type": "application/json"}, b"{}"),
    )
    immediately = ["--wearers-deadline-ms=0", "--wearers-transport-ms=0"]
    ended = locust(gateway.url, tmp_path, material, "--run-time=3s", *immediately)
    assert ended.status == 1
    assert ended.missed == {
        "questions",
        "contract",
        "accepted",
        "in time",
        "deadline",
        "errors",
        "turned away",
    }
    asked = [record for record in ended.results.records if record.asked is not Asked.FORGET]
    assert {(record.status, record.fate, bool(record.trouble)) for record in asked} == {
        (200, Fate.LATE, False),
        (500, Fate.FAILED, False),
        (503, Fate.SHED, False),
        (404, Fate.REJECTED, False),
        (200, Fate.LATE, True),
    }
    for verdict in ended.results.verdicts:
        assert verdict.sentence in ended.log
