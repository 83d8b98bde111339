"""`loreglass key new`, and `loreglass ask` with the key of the environment."""

import tomllib
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from chassis.keys import ApiKey
from clients.cli import app as command_line
from clients.keys import app, entry
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.clients.test_client import follow, photo


def test_new_key_is_printed_with_its_entry() -> None:
    result = CliRunner().invoke(app, ["new", "--tenant", "acme", "--priority", "standard"])
    assert result.exit_code == 0
    text, _, lines = result.stdout.partition("\n")
    key = ApiKey.parse(text)
    assert key is not None
    assert text not in lines
    (entry,) = tomllib.loads(lines)["key"]
    assert entry == {"prefix": key.prefix, "sha256": key.sha256, "tenant": "acme", "priority": "standard"}


@pytest.mark.parametrize("tenant", ["", 'a"b', "a\nb", "-a", "é", "a" * 65])
def test_bad_tenant_name_is_refused(tenant: str) -> None:
    result = CliRunner().invoke(app, ["new", f"--tenant={tenant}"])
    assert result.exit_code == 2
    assert "lg_" not in result.stdout


@pytest.mark.anyio
async def test_ask_sends_the_key_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, file = ApiKey.new(), tmp_path / "keys.toml"
    file.write_text(entry(key, "acme", "interactive"))
    (tmp_path / "photo.jpg").write_bytes(photo())
    async with scripted_gateway(ScriptedPipeline(follow), keys=file) as url:
        arguments = ["ask", str(tmp_path / "photo.jpg"), "what is this?", "--gateway", url]
        refused = await anyio.to_thread.run_sync(CliRunner().invoke, command_line, arguments)
        monkeypatch.setenv("LOREGLASS_API_KEY", key.text)
        answered = await anyio.to_thread.run_sync(CliRunner().invoke, command_line, arguments)
    assert refused.exit_code == 1
    assert answered.exit_code == 0
    assert "turn 1" in answered.stdout
