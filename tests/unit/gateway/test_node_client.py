"""The platform as a model, asked by the official client for Node."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.unit.gateway.platform import PHOTO, QUESTION, World

pytestmark = pytest.mark.anyio

HERE = Path(__file__).resolve().parents[2] / "node"
OLDEST = 20
FETCHED_WITHIN_S = 60


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program beside the client that its lock names. Skips where Node is missing or too old."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node and npm are not installed here: apt-get install nodejs npm")
    version = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout
    if int(version.removeprefix("v").partition(".")[0]) < OLDEST:
        pytest.skip(f"the client for Node wants {OLDEST} or later, not {version.strip()}")
    folder = tmp_path_factory.mktemp("node")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    command = [npm, "ci", "--no-audit", "--no-fund"]
    try:
        subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True, timeout=FETCHED_WITHIN_S
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm could not fetch the client: {error}")
    return folder / "ask.mjs"


async def test_the_client_for_node_lists_asks_streams_and_is_refused(
    program: Path, world: World, tmp_path: Path
) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(PHOTO)
    command = ["node", str(program), f"{world.url}/v1", str(photo), QUESTION]
    ran = await anyio.run_process(command, env=os.environ | {"NO_PROXY": "127.0.0.1"}, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    told: dict[str, Any] = json.loads(ran.stdout)
    answer = (await world.ask()).answer
    assert "loreglass" in told["models"]
    assert told["whole"]["choices"][0]["message"]["content"] == answer
    assert told["whole"]["usage"]["total_tokens"] > 0
    *chunks, last = told["streamed"]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == answer
    assert last["usage"] == told["whole"]["usage"]
    assert told["refused"] == {
        "status": 422,
        "code": "invalid_request",
        "kind": "UnprocessableEntityError",
    }
