"""The JavaScript client: its own tests, its types, and a real gateway."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

from contracts.answer import Answer, Citation, LookedAt
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, gateway_before

CLIENT = Path(__file__).resolve().parents[3] / "clients/js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed here")
FOR_MEASURING = {"explanation", "conflicts"}
"""Fields that only experiments fill, or none."""

SCRIPT = """
import { readFile } from "node:fs/promises";
import { Loreglass } from "%(client)s";
const client = new Loreglass("%(url)s");
const talk = client.conversation(await readFile("%(photo)s"));
const first = await talk.ask("Who wrote this book?");
const events = [];
for await (const { event } of talk.stream("How many pages has it?")) events.push(event);
const trace = await client.trace(first.trace_id);
await talk.forget();
const gone = await client.ask("?", null, { sessionId: first.session_id }).catch(({ kind }) => kind);
const pipelines = await client.pipelines();
console.log(JSON.stringify({ first, events, trace: trace.trace_id, gone, pipelines }));
"""


@needs_node
def test_javascript_tests_pass() -> None:
    done = subprocess.run(
        [str(NODE), "--test", "test/"], cwd=CLIENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-4_000:]


@needs_node
async def test_javascript_client_asks_a_real_gateway(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(PHOTO)
    async with gateway_before(FakeServices()) as world:
        names = {"client": CLIENT / "loreglass.js", "url": world.url, "photo": tmp_path / "photo.jpg"}
        (tmp_path / "ask.mjs").write_text(SCRIPT % names)
        done = await anyio.run_process([str(NODE), str(tmp_path / "ask.mjs")], check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert Answer.model_validate(figures["first"]).citations
    assert figures["events"][-1] == "final"
    assert figures["trace"] == figures["first"]["trace_id"]
    assert figures["gone"] == "session_not_found"
    assert figures["pipelines"][0] == "loreglass"


@pytest.mark.parametrize("model", [Answer, Citation, LookedAt])
def test_types_have_the_fields_of_the_contract(model: type[Answer | Citation | LookedAt]) -> None:
    types = (CLIENT / "loreglass.d.ts").read_text()
    match = re.search(rf"export interface {model.__name__} {{(.*?)\n}}", types, re.DOTALL)
    assert match is not None
    fields = set(re.findall(r"^  (\w+)\??:", match[1], re.MULTILINE))
    assert fields == set(model.model_fields) - FOR_MEASURING
