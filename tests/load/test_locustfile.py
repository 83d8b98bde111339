"""The locustfile, run by locust in a process of its own, before a real platform and before bad gateways."""

import io
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from PIL import Image, ImageOps

from bench.settings import ROOT, environment
from bench.wearers.material import Conversation, plain, write
from bench.wearers.records import Results
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


@pytest.fixture
def refusing() -> Iterator[str]:
    """The address of a server that refuses every request."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_gateway_that_misses_objectives_ends_the_run_with_1_and_each_verdict(
    refusing: str, tmp_path: Path
) -> None:
    write([Conversation(b"a photo", ("what is it?", "and what else?"))], tmp_path / "material")
    ended = locust(refusing, tmp_path, f"--wearers-material={tmp_path / 'material'}", "--run-time=2s")
    assert ended.status == 1
    assert {"questions", "errors"} <= ended.missed
    assert {record.status for record in ended.results.records} == {501}
    assert all(verdict.sentence in ended.log for verdict in ended.results.verdicts)
