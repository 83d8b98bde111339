"""`loreglass models`: what is fetched, and what it says without a network."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.models import MODELS, app
from services.reader.settings import ReaderSettings
from tests.deploy.fake_hub import COMMIT, FakeHub, Repository, serving

FILES = {"config.json": b"{}", "tokenizer.json": b"[]", "model.safetensors": bytes(range(256)) * 64}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setitem(MODELS, "reader", replace(MODELS["reader"], revision=COMMIT))
    with serving({MODELS["reader"].repository: Repository(dict(FILES))}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, f"{done.output}{done.exception}"


@pytest.mark.usefixtures("hub")
def test_a_fetched_reader_is_listed_and_its_settings_are_printed(tmp_path: Path) -> None:
    code, said = run("get", "--folder", str(tmp_path))
    assert code == 0, said
    settings = dict(each.split("=", 1) for each in said.split() if each.startswith("LOREGLASS_"))
    prefix = "LOREGLASS_READER_"
    reader = ReaderSettings.model_validate(
        {"engine": settings[f"{prefix}ENGINE"], "model": settings[f"{prefix}MODEL"]}
    )
    assert (Path(reader.model) / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert "here" in run("list", "--folder", str(tmp_path))[1].splitlines()[0]


def test_without_a_network_it_says_so_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    code, said = run("get", "--folder", str(tmp_path))
    assert code == 1
    assert "could not be fetched" in said
    assert "Traceback" not in said
