"""The platform as a model, asked by the official client for Node."""

import json
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.node_js import node_or_skip
from tests.unit.gateway.platform import PHOTO, QUESTION, World

pytestmark = pytest.mark.anyio

HERE = Path(__file__).resolve().parents[2] / "node"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program beside the client that its lock names."""
    folder = tmp_path_factory.mktemp("node")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    node_or_skip().install(folder)
    return folder / "ask.mjs"


async def test_the_client_for_node_lists_asks_streams_and_is_refused(
    program: Path, world: World, tmp_path: Path
) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(PHOTO)
    node = node_or_skip()
    command = [node.node, str(program), f"{world.url}/v1", str(photo), QUESTION]
    ran = await anyio.run_process(command, env=node.environment, check=False)
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
