"""Clients of a gateway that asks for keys."""

from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from chassis.keys import ApiKey
from clients.cli import app
from clients.keys import entry
from loreglass_client import Answer, AsyncLoreglass
from loreglass_client.errors import Unauthorized
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.clients.test_client import follow, photo

pytestmark = pytest.mark.anyio


def given_key(folder: Path) -> tuple[str, Path]:
    """A key, and the file of the gateway that lets it in."""
    key = ApiKey.new()
    file = folder / "keys.toml"
    file.write_text(entry(key, "acme", "interactive"))
    return key.text, file


async def test_a_client_with_a_key_is_let_in_by_every_way_and_one_without_is_not(tmp_path: Path) -> None:
    key, file = given_key(tmp_path)
    async with scripted_gateway(ScriptedPipeline(follow), keys=file) as url:
        async with AsyncLoreglass(url, key) as client:
            answer = await client.ask("what is this?", photo())
            async with aclosing(client.stream("and this?", photo())) as events:
                assert isinstance([event async for event in events][-1], Answer)
            await client.forget(answer.session_id)
        async with AsyncLoreglass(url) as client:
            with pytest.raises(Unauthorized):
                await client.ask("what is this?", photo())


async def test_the_command_line_sends_the_key_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, file = given_key(tmp_path)
    (tmp_path / "photo.jpg").write_bytes(photo())
    async with scripted_gateway(ScriptedPipeline(follow), keys=file) as url:
        arguments = ["ask", str(tmp_path / "photo.jpg"), "what is this?", "--gateway", url]
        refused = await anyio.to_thread.run_sync(CliRunner().invoke, app, arguments)
        monkeypatch.setenv("LOREGLASS_API_KEY", key)
        answered = await anyio.to_thread.run_sync(CliRunner().invoke, app, arguments)
    assert refused.exit_code == 1
    assert answered.exit_code == 0
    assert "turn 1" in answered.stdout
