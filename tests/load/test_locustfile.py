"""The locustfile, run by locust in a process of its own, before a real platform and before a bad gateway."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from PIL import Image, ImageOps

from bench.load.conversations import INDEX, Conversation, signs
from bench.processes import ROOT, environment
from tests.journey.deployments import OneProcess
from tests.loopback import loopback
from tests.unit.chassis.pictures import encoded

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
        command,
        cwd=ROOT,
        env=environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
        text=True,
    )
    return run.returncode, run.stdout


def missed(log: str) -> set[str]:
    return set(re.findall("missed ([a-z ]+):", log))


def small(each: Conversation) -> Conversation:
    """The conversation about a photo that a busy machine reads soon."""
    with Image.open(io.BytesIO(each.photo)) as picture:
        jpeg = encoded(ImageOps.exif_transpose(picture).resize((360, 480)), "JPEG")
    return Conversation(jpeg, each.turns, each.impossible)


@pytest.mark.slow
def test_users_of_a_real_platform_see_the_objectives_held(tmp_path: Path) -> None:
    platform = OneProcess(tmp_path / "data")
    platform.start()
    try:
        options = ("--run-time=4s", "--wearers-deadline-ms=40000")
        status, log = locust(platform.gateway_url, tmp_path, list(map(small, signs())), *options)
    finally:
        platform.stop()
    assert status == 0, log
    assert not missed(log)
    assert "held   questions:" in log
    assert "Locust Test Report" in (tmp_path / "report.html").read_text()


@pytest.fixture
def refusing() -> Iterator[str]:
    """The address of a server that refuses every request."""
    with loopback(BaseHTTPRequestHandler) as url:
        yield url


def test_a_gateway_that_misses_objectives_ends_the_run_with_1(refusing: str, tmp_path: Path) -> None:
    talk = Conversation(b"a photo", ("what is it?", "and what else?"))
    status, log = locust(refusing, tmp_path, [talk], "--run-time=2s")
    assert status == 1
    assert {"questions", "contract"} <= missed(log)
