"""The commands ask and keys."""

import tomllib
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner, Result

from chassis.keys import ApiKey
from clients.cli import app
from clients.keys import app as keys
from clients.keys import entry
from contracts.answer import Citation, CitationKind, Reason, Route
from gateway.clients.conversion import read_request
from gateway.state import Query, ToRead
from gateway.steps.conclusion import Outcome, refusal
from loreglass_client import AsyncLoreglass
from services.reader.routes import MAX_CHARACTERS
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.clients.test_client import follow, photo


async def ask(url: str, *arguments: str) -> Result:
    command = ["ask", *arguments, "--gateway", url]
    return await anyio.to_thread.run_sync(CliRunner(env={"COLUMNS": "200"}).invoke, app, command)


async def test_photo_is_optional(tmp_path: Path) -> None:
    shot, queries = tmp_path / "photo.jpg", list[Query]()
    shot.write_bytes(photo())
    async with scripted_gateway(ScriptedPipeline(lambda ask: queries.append(ask) or follow(ask))) as url:
        for arguments in (["how tall is K2?"], [str(shot), "what is this?"]):
            assert (await ask(url, *arguments)).exit_code == 0
    questions = [(each.question, each.photo is None) for each in queries]
    assert questions == [("how tall is K2?", True), ("what is this?", False)]


async def test_unmeasured_confidence_is_null_everywhere() -> None:
    unmeasured = Outcome("8,611 m.", Reason.ANSWERED, None, Route.RAG)
    async with scripted_gateway(ScriptedPipeline(lambda _: unmeasured)) as url, AsyncLoreglass(url) as client:
        chatted = await client.ask_in([], "how tall is K2?")
        shown = await ask(url, "how tall is K2?")
    assert chatted.confidence is None
    assert "confidence not measured" in shown.output


async def test_refusal_shows_closest_passage_and_advice() -> None:
    closest = Citation(
        title="K2",
        url="https://a.example/k2",
        snippet="K2 is high. It is cold.",
        sentence="K2 is high.",
        score=0.4,
        kind=CitationKind.PAGE,
    )
    unsure = refusal(Reason.MODEL_UNSURE, Route.RAG, closest=closest)
    async with scripted_gateway(ScriptedPipeline(lambda _: unsure)) as url:
        shown = await ask(url, "how tall is K2?")
    assert shown.output.splitlines()[1:3] == [
        "  The closest I found: K2 · https://a.example/k2: “K2 is high.”",
        "  Rephrase the question, or name the thing.",
    ]


def test_missing_server_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOREGLASS_GATEWAY_URL", raising=False)
    monkeypatch.setenv("LOREGLASS_PORT", "9")
    done = CliRunner().invoke(app, ["ask", "how tall is K2?", "--deadline-ms", "1"])
    assert done.exit_code == 1
    assert done.output == "No Loreglass server at http://127.0.0.1:9. Start one with: loreglass serve\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["missing.jpg", "what is this?"], "No photo at missing.jpg."),
        (["a.jpg", "what", "is"], "quotation marks"),
    ],
)
def test_bad_arguments_are_refused(arguments: list[str], text: str) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["ask", *arguments])
    assert done.exit_code == 2
    assert text in done.output


def test_pages_that_are_too_long_together_are_left_out_from_the_end() -> None:
    pages = [ToRead("word " * 4_000, f"Page {place}", CitationKind.PAGE) for place in range(40)]
    request = read_request("who wrote it?", pages, None)
    assert sum(len(each.text) + len(each.title) for each in request.passages) <= MAX_CHARACTERS
    count = len(request.passages)
    assert count > 5
    assert [each.title for each in request.passages] == [page.title for page in pages[:count]]


def test_new_key_is_printed_with_its_entry() -> None:
    result = CliRunner().invoke(keys, ["new", "--tenant", "acme", "--priority", "standard"])
    assert result.exit_code == 0
    text, _, lines = result.stdout.partition("\n")
    key = ApiKey.parse(text)
    assert key is not None
    assert text not in lines
    (entry,) = tomllib.loads(lines)["key"]
    assert entry == {"prefix": key.prefix, "sha256": key.sha256, "tenant": "acme", "priority": "standard"}


@pytest.mark.parametrize("tenant", ["", 'a"b', "a\nb", "-a", "é", "a" * 65])
def test_bad_tenant_name_is_refused(tenant: str) -> None:
    result = CliRunner().invoke(keys, ["new", f"--tenant={tenant}"])
    assert result.exit_code == 2
    assert "lg_" not in result.stdout


async def test_ask_sends_the_key_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, file = ApiKey.new(), tmp_path / "keys.toml"
    file.write_text(entry(key, "acme", "interactive"))
    async with scripted_gateway(ScriptedPipeline(follow), keys=file) as url:
        refused = await ask(url, "what is this?")
        monkeypatch.setenv("LOREGLASS_API_KEY", key.text)
        answered = await ask(url, "what is this?")
    assert (refused.exit_code, answered.exit_code) == (1, 0)
    assert "turn 1" in answered.stdout
