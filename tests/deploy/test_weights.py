"""The weights job against a small hub, and the command that lists models."""

import ast
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chassis.startup import CannotStart
from deploy.inventory import APPS
from deploy.models import MODELS, Model, app, engine_settings
from deploy.weights import __main__ as command
from deploy.weights.__main__ import MARKER, REVISIONS, SERVICES, CannotFetch, Weights, fetch, present
from services.reader.settings import ReaderSettings
from services.vlm.presets import PRESETS
from tests.deploy.compose_file import ROOT, read_env
from tests.deploy.fake_hub import COMMIT, FakeHub, Repository, serving

TOY = Weights("acme/toy", ("cropper",), 0.1)
SHUT = Weights("acme/shut", ("vlm",), 0.1)
FILES = {
    "config.json": b"{}",
    "tokenizer.json": b"[]",
    "README.md": b"not needed",
    "model.safetensors": bytes(range(256)) * 64,
    "pytorch_model.bin": b"the same weights again" * 99,
    "onnx/model.safetensors": b"and again" * 99,
}
DEFAULTS = {
    "cropper": "services/cropper/engines/detector.py",
    "text_search": "services/text_search/engines/bge.py",
    "domain_router": "chassis/models/qformer.py",
    "reranker": "services/reranker/engines/qwen3.py",
    "reader": "services/reader/engines/windows.py",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    repositories = {"acme/toy": Repository(dict(FILES)), "acme/shut": Repository(dict(FILES), "secret")}
    with serving(repositories) as hub:
        yield hub


def get(hub: FakeHub, root: Path, weights: Weights = TOY, token: str = "", revision: str = "main") -> None:
    fetch(weights, root, token, revision, hub.url)


@pytest.mark.parametrize(("app", "path"), DEFAULTS.items(), ids=list(DEFAULTS))
def test_weights_match_the_engine_defaults(app: str, path: str) -> None:
    """Read rather than imported: the modules need torch."""
    (default,) = [
        ast.literal_eval(node.value)
        for node in ast.parse((ROOT / path).read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DEFAULT_MODEL"
    ]
    assert default in {each.repository for each in SERVICES if app in each.used_by}


def test_environment_file_sets_the_weight_folders() -> None:
    folders = {each.name for each in SERVICES}
    for name, value in read_env(ROOT / "deploy/weights/weights.env").items():
        (app,) = [app for app in APPS if name.startswith(app.prefix)]
        assert name.removeprefix(app.prefix).lower() in app.settings.model_fields
        assert value.partition("/weights/")[2].partition("/")[0] in folders


def test_configuration_and_one_weight_format_are_downloaded_once(hub: FakeHub, tmp_path: Path) -> None:
    get(hub, tmp_path)
    wanted = {"config.json", "tokenizer.json", "model.safetensors"}
    results = {path.name: path.read_bytes() for path in (tmp_path / "toy").iterdir() if path.is_file()}
    assert {name: results[name] for name in wanted} == {name: FILES[name] for name in wanted}
    assert set(results) == {*wanted, MARKER}
    assert json.loads((tmp_path / REVISIONS).read_text()) == {"acme/toy": COMMIT}
    before = len(hub.requests)
    get(hub, tmp_path)
    assert len(hub.requests) == before


def test_second_weight_format_is_used_if_the_first_is_missing(hub: FakeHub, tmp_path: Path) -> None:
    del hub.repositories["acme/toy"].files["model.safetensors"]
    get(hub, tmp_path)
    assert (tmp_path / "toy/pytorch_model.bin").exists()


@pytest.mark.parametrize("content", [None, b"half"], ids=["lost", "cut"])
def test_an_incomplete_folder_is_fetched_again(hub: FakeHub, tmp_path: Path, content: bytes | None) -> None:
    get(hub, tmp_path)
    path = tmp_path / "toy/model.safetensors"
    path.unlink() if content is None else path.write_bytes(content)
    assert present(TOY, tmp_path) is None
    if content:  # the client takes a file that it once fetched for whole; the checksums find it
        with pytest.raises(CannotFetch, match="corrupt"):
            get(hub, tmp_path)
    get(hub, tmp_path)
    assert path.read_bytes() == FILES["model.safetensors"]


def test_damaged_weights_are_deleted_and_not_marked(hub: FakeHub, tmp_path: Path) -> None:
    hub.damaged.add("model.safetensors")
    with pytest.raises(CannotFetch, match=r"the download of model\.safetensors is corrupt"):
        get(hub, tmp_path)
    assert present(TOY, tmp_path) is None
    hub.damaged.clear()
    get(hub, tmp_path)
    assert present(TOY, tmp_path)


def test_each_kind_of_download_failure_has_its_own_error(hub: FakeHub, tmp_path: Path) -> None:
    with pytest.raises(CannotFetch, match=r"acme/shut is gated: .*huggingface.co/acme/shut .*HF_TOKEN_FILE"):
        get(hub, tmp_path, SHUT)
    with pytest.raises(CannotFetch, match="acme/gone is not on the hub"):
        get(hub, tmp_path, Weights("acme/gone", ("vlm",), 0.1))
    with pytest.raises(CannotFetch, match=r"^No connection to 127\.0\.0\.1:9: acme/toy was not fetched\.$"):
        fetch(TOY, tmp_path, "", "main", "http://127.0.0.1:9")
    get(hub, tmp_path)
    assert present(TOY, tmp_path, COMMIT)
    with pytest.raises(CannotFetch, match="acme/toy has no revision 'v2'"):
        get(hub, tmp_path, revision="v2")


def test_token_is_read_from_a_file_and_one_failure_stops_no_other(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv("HF_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("HF_TOKEN", "another")
    monkeypatch.setattr(command, "SERVICES", (Weights("acme/gone", ("reader",), 0.1), TOY))
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setattr(command, "vlm", lambda _: SHUT)
    with pytest.raises(SystemExit, match="1 of 3 are missing:\nacme/gone"):
        command.main(["--dir", str(tmp_path / "w"), "--only", "cropper", "reader", "vlm"])
    assert present(SHUT, tmp_path / "w")
    assert present(TOY, tmp_path / "w")
    assert "secret" not in capsys.readouterr().out


def test_waiting_ends_when_the_weights_exist(
    tmp_path: Path, hub: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    command.wait([TOY], tmp_path, lambda _: get(hub, tmp_path))
    assert "acme/toy: there" in capsys.readouterr().out


def test_the_list_follows_the_preset_and_the_voice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOREGLASS_VLM_PRESET", "qwen2.5-vl-7b-fp8")
    command.main(["--dir", str(tmp_path), "--list"])
    listed = capsys.readouterr().out
    assert PRESETS["qwen2.5-vl-7b-fp8"].model in listed
    assert "whisper" not in listed
    monkeypatch.setenv("LOREGLASS_WEIGHTS_VOICE", "whisper.cpp-cuda")
    command.main(["--dir", str(tmp_path), "--list", "--only", "stt"])
    assert capsys.readouterr().out.startswith("ggerganov/whisper.cpp ")
    with pytest.raises(SystemExit):
        command.main(["--list", "--voice", "kokoro"])
    monkeypatch.setenv("LOREGLASS_WEIGHTS_REVISIONS", "main")
    with pytest.raises(SystemExit, match="LOREGLASS_WEIGHTS_REVISIONS is not JSON"):
        command.main(["--list"])


MODEL_FILES = {"config.json": b"{}", "tokenizer.json": b"[]", "model.safetensors": bytes(range(256)) * 64}


@pytest.fixture
def model_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    reader = MODELS["reader"]
    weights = replace(reader.weights, revision=COMMIT)
    monkeypatch.setitem(MODELS, "reader", replace(reader, weights=weights))
    with serving({weights.repository: Repository(dict(MODEL_FILES))}) as model_hub:
        monkeypatch.setenv("HF_ENDPOINT", model_hub.url)
        yield model_hub


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, f"{done.output}{done.exception}"


@pytest.mark.usefixtures("model_hub")
def test_a_fetched_reader_is_listed_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotStart, match="loreglass models get"):
        engine_settings(tmp_path)
    code, output = run("get", "--folder", str(tmp_path))
    assert code == 0, output
    assert f"loreglass serve --models {tmp_path}" in output
    reader = ReaderSettings.model_validate(engine_settings(tmp_path)["reader"])
    assert reader.engine == "extractive"
    assert (Path(reader.model) / "model.safetensors").read_bytes() == MODEL_FILES["model.safetensors"]
    assert "here" in run("list", "--folder", str(tmp_path))[1].splitlines()[0]
    monkeypatch.setenv("LOREGLASS_READER_ENGINE", "builtin")
    assert engine_settings(tmp_path) == {}


@pytest.mark.parametrize(("name", "model"), MODELS.items())
def test_the_settings_of_a_larger_model_are_the_services_own(name: str, model: Model) -> None:
    (service,) = [each for each in APPS if each.name == name]
    assert model.settings.keys() <= service.settings.model_fields.keys()
    assert service.settings.model_validate(model.settings)
    assert model.extra == service.cuda_group


def test_an_unknown_model_is_named_with_the_known_ones() -> None:
    assert "Unknown model 'vlm'. Choose from: reader, text_search" in run("get", "vlm")[1]


def test_missing_network_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    code, output = run("get", "--folder", str(tmp_path))
    assert code == 1
    assert "No connection to 127.0.0.1:1: deepset/" in output
    assert "Traceback" not in output
