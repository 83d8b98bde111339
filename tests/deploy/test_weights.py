"""What the weights job fetches, when it does nothing, and what it says when it cannot; by the real client."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from deploy.images.catalogue import ROOT
from deploy.inventory import APPS
from deploy.weights import __main__ as command
from deploy.weights.catalogue import FOLDER, SERVICES, Weights, environment, vlm
from deploy.weights.fetching import MARKER, REVISIONS, fetch, present, remember
from deploy.weights.hub import CannotFetch, Hub
from services.vlm.presets import PRESETS
from tests.deploy.fake_hub import COMMIT, FakeHub, Repository, serving

TOY = Weights("acme/toy", ("cropper",), 0.1)
FILES = {
    "config.json": b"{}",
    "tokenizer.json": b"[]",
    "README.md": b"not needed",
    "model.safetensors": bytes(range(256)) * 64,
    "pytorch_model.bin": b"the same weights again" * 99,
    "onnx/model.safetensors": b"and again" * 99,
}
DEFAULTS = {
    "cropper": "services/cropper/detection/detector.py",
    "text_search": "services/text_search/engines/bge.py",
    "domain_router": "chassis/models/qformer.py",
    "reranker": "services/reranker/engines/qwen3.py",
    "reader": "services/reader/engines/windows.py",
}


def quietly(_: str) -> None:
    pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # read once, maybe for other tests
    with serving(
        {"acme/toy": Repository(dict(FILES)), "acme/shut": Repository(dict(FILES), "secret")}
    ) as hub:
        yield hub


def client(hub: FakeHub, token: str = "") -> Hub:
    return Hub(token, hub.url)


def constant(path: str, name: str) -> str:
    """A module's constant, read rather than imported: the module needs torch."""
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{path} has no {name}")


@pytest.mark.parametrize(("app", "path"), DEFAULTS.items(), ids=list(DEFAULTS))
def test_the_weights_fetched_are_the_engines_own_defaults(app: str, path: str) -> None:
    assert constant(path, "DEFAULT_MODEL") in {each.repository for each in SERVICES if app in each.used_by}


def test_clip_is_told_the_architecture_of_its_engines_default_and_a_file_that_is_fetched() -> None:
    default = constant("services/image_search/engines/clip.py", "DEFAULT_MODEL")
    (clip,) = [each for each in SERVICES if "image_search" in each.used_by]
    ((_, told),) = clip.variables
    assert told.partition(":")[0] == default.partition(":")[0]
    assert told.rpartition("/")[2] == clip.files[0]


def test_every_variable_is_a_setting_of_an_app() -> None:
    known: dict[str, type[BaseSettings]] = {app.prefix: app.settings for app in APPS}
    for name, _ in (pair for weights in SERVICES for pair in weights.variables):
        (prefix,) = [prefix for prefix in known if name.startswith(prefix)]
        assert name.removeprefix(prefix).lower() in known[prefix].model_fields


def test_the_committed_environment_file_is_what_the_command_writes() -> None:
    assert (ROOT / "deploy/weights/weights.env").read_text() == environment()


def test_every_preset_of_the_model_server_has_its_weights_and_folder() -> None:
    assert {vlm(preset).repository for preset in PRESETS.values()} == {
        each.model for each in PRESETS.values()
    }
    names = [each.name for each in SERVICES] + [vlm(preset).name for preset in PRESETS.values()]
    assert len(set(names)) == len(names)


def test_what_an_engine_reads_is_fetched_and_nothing_twice(hub: FakeHub, tmp_path: Path) -> None:
    found = fetch(TOY, tmp_path, client(hub), tell=quietly)
    files = {path.name for path in (tmp_path / "toy").iterdir() if path.is_file()}
    assert files == {"config.json", "tokenizer.json", "model.safetensors", MARKER}
    assert (tmp_path / "toy/model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert found.commit == COMMIT


def test_pickled_weights_are_taken_where_there_are_no_others(hub: FakeHub, tmp_path: Path) -> None:
    del hub.repositories["acme/toy"].files["model.safetensors"]
    fetch(TOY, tmp_path, client(hub), tell=quietly)
    assert (tmp_path / "toy/pytorch_model.bin").exists()


def test_the_second_run_asks_nobody(hub: FakeHub, tmp_path: Path) -> None:
    first = fetch(TOY, tmp_path, client(hub), tell=quietly)
    hub.asked.clear()
    assert fetch(TOY, tmp_path, client(hub), tell=quietly) == first
    assert hub.asked == []


def test_who_waits_goes_on_when_its_own_weights_are_whole(hub: FakeHub, tmp_path: Path) -> None:
    pauses = []

    def somebody_fetches(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            fetch(TOY, tmp_path, client(hub), tell=quietly)

    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "model.safetensors").write_bytes(b"half")
    command.wait([TOY], tmp_path, somebody_fetches)
    assert len(pauses) == 3


def test_waiting_for_one_app_asks_for_its_folders_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[str] = []
    monkeypatch.setattr(command, "wait", lambda wanted, root: waited.extend(each.name for each in wanted))
    command.main(["--dir", str(tmp_path), "--wait", "--only", "domain-router"])
    assert waited == ["blip2-itm-vit-g"]
    monkeypatch.setenv("LOREGLASS_VLM_PRESET", "qwen3-vl-8b")
    command.main(["--dir", str(tmp_path), "--wait", "--only", "vlm"])
    assert waited == ["blip2-itm-vit-g", "Qwen3-VL-8B-Instruct"]


@pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_bytes(b"half")], ids=["gone", "cut"])
def test_a_file_that_was_lost_is_fetched_again(
    lose: Callable[[Path], object], hub: FakeHub, tmp_path: Path
) -> None:
    fetch(TOY, tmp_path, client(hub), tell=quietly)
    lose(tmp_path / "toy/model.safetensors")
    assert present(TOY, tmp_path) is None
    fetch(TOY, tmp_path, client(hub), tell=quietly)
    assert (tmp_path / "toy/model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_while_other_weights_come_into_a_folder_it_is_not_called_complete(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(*_: object) -> None:
        raise CannotFetch("the line is dead")

    fetch(TOY, tmp_path, client(hub), tell=quietly)
    monkeypatch.setattr(Hub, "download", broken_off)
    with pytest.raises(CannotFetch, match="the line is dead"):
        fetch(TOY, tmp_path, client(hub), "main", quietly)
    assert present(TOY, tmp_path) is None


def test_another_revision_than_the_one_that_is_there_is_fetched(hub: FakeHub, tmp_path: Path) -> None:
    fetch(TOY, tmp_path, client(hub), tell=quietly)
    assert present(TOY, tmp_path, COMMIT)
    assert present(TOY, tmp_path, "f" * 40) is None
    with pytest.raises(CannotFetch, match="acme/toy has no revision 'v2'"):
        fetch(TOY, tmp_path, client(hub), "v2", quietly)


def test_a_download_that_broke_off_goes_on_where_it_stopped(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)  # what is written at once
    hub.cut.add("model.safetensors")
    fetch(TOY, tmp_path, client(hub), tell=quietly)
    assert hub.ranges == [f"model.safetensors {len(FILES['model.safetensors']) // 2}"]
    assert (tmp_path / "toy/model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_weights_that_arrive_damaged_are_not_kept(hub: FakeHub, tmp_path: Path) -> None:
    hub.damaged.add("model.safetensors")
    with pytest.raises(CannotFetch, match=r"model\.safetensors arrived damaged"):
        fetch(TOY, tmp_path, client(hub), tell=quietly)
    assert present(TOY, tmp_path) is None
    hub.damaged.clear()
    fetch(TOY, tmp_path, client(hub), tell=quietly)
    assert present(TOY, tmp_path)


def test_a_gated_repository_says_where_to_ask_and_how_to_hand_over_a_token(
    hub: FakeHub, tmp_path: Path
) -> None:
    shut = Weights("acme/shut", ("vlm",), 0.1)
    with pytest.raises(CannotFetch, match=r"acme/shut is gated: .*huggingface.co/acme/shut .*HF_TOKEN_FILE"):
        fetch(shut, tmp_path, client(hub), tell=quietly)
    assert fetch(shut, tmp_path, client(hub, "secret"), tell=quietly).commit == COMMIT


def test_a_repository_that_is_not_there_and_a_hub_that_is_not_there_are_told_apart(
    hub: FakeHub, tmp_path: Path
) -> None:
    with pytest.raises(CannotFetch, match="acme/gone is not on the hub"):
        fetch(Weights("acme/gone", ("vlm",), 0.1), tmp_path, client(hub), tell=quietly)
    with pytest.raises(CannotFetch, match="acme/toy could not be fetched"):
        fetch(TOY, tmp_path, Hub(endpoint="http://127.0.0.1:9"), tell=quietly)


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, b'{"error": "Invalid credentials"}', r"the hub refuses this token \(401\)"),
        (403, b'{"error": "Forbidden"}', r"the hub refuses this token \(403\)"),
        (503, b"", r"503 .*Run it again"),
        (200, b"<html>Please sign in</html>", "does not speak as a hub does"),
        (200, b'{"id": "acme/toy", "sha": "1", "siblings": [{"rfilename": "a"}]}', "none of|as a hub does"),
    ],
    ids=["wrong token", "weak token", "broken", "somebody's page", "no sizes"],
)
def test_what_a_hub_says_instead_becomes_a_sentence_with_what_helps(
    hub: FakeHub, tmp_path: Path, status: int, body: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.instead = (status, body)
    with pytest.raises(CannotFetch, match=f"acme/toy .*{told}") as refused:
        fetch(TOY, tmp_path, client(hub, "hf_private"), tell=quietly)
    assert "hf_private" not in str(refused.value)
    assert "Run it again" in str(refused.value) or status != 503


def test_the_token_is_not_shown_to_where_the_hub_sends_us_for_a_file(hub: FakeHub, tmp_path: Path) -> None:
    path = "acme/toy/resolve/main/model.safetensors"
    with serving({"acme/toy": Repository(dict(FILES))}) as store:
        hub.elsewhere["model.safetensors"] = f"{store.url.replace('127.0.0.1', 'localhost')}/{path}"
        fetch(Weights("acme/shut", ("vlm",), 0.1), tmp_path, client(hub, "secret"), tell=quietly)
    assert set(hub.tokens) == {"Bearer secret"}
    assert set(store.tokens) == {""}


def test_a_file_of_the_hub_is_not_taken_for_our_mark(hub: FakeHub, tmp_path: Path) -> None:
    hub.repositories["acme/toy"].files[MARKER] = b"{}"
    fetch(TOY, tmp_path, client(hub), tell=quietly)
    assert present(TOY, tmp_path)


def test_what_does_not_fit_on_the_disk_is_not_begun(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.weights.fetching._HEADROOM_BYTES", 2**62)
    with pytest.raises(CannotFetch, match="GB free"):
        fetch(TOY, tmp_path, client(hub), tell=quietly)
    assert list((tmp_path / "toy").iterdir()) == []


def test_the_commits_are_kept_for_another_node(tmp_path: Path) -> None:
    remember({"acme/toy": COMMIT}, tmp_path)
    remember({"acme/other": "main"}, tmp_path)
    assert json.loads((tmp_path / REVISIONS).read_text()) == {"acme/toy": COMMIT, "acme/other": "main"}


def test_the_token_is_read_from_the_secret_and_is_never_shown(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv("HF_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("HF_TOKEN", "of-somebody-else")
    monkeypatch.setattr(command, "SERVICES", (Weights("acme/shut", ("cropper",), 0.1),))
    monkeypatch.setattr(command, "Hub", lambda token: Hub(token, hub.url))
    command.main(["--dir", str(tmp_path / "weights"), "--only", "cropper"])
    assert "secret" not in capsys.readouterr().out
    assert (tmp_path / "weights/shut" / MARKER).exists()


def test_one_refusal_does_not_hold_up_the_rest(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SERVICES", (Weights("acme/gone", ("cropper",), 0.1), TOY))
    monkeypatch.setattr(command, "Hub", lambda token: Hub(token, hub.url))
    with pytest.raises(SystemExit, match="1 of 2 are missing:\nacme/gone"):
        command.main(["--dir", str(tmp_path), "--only", "cropper"])
    assert present(TOY, tmp_path)


def test_revisions_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGLASS_WEIGHTS_REVISIONS", "main")
    with pytest.raises(SystemExit, match="LOREGLASS_WEIGHTS_REVISIONS is no JSON"):
        command.main(["--list"])


def test_the_list_tells_what_is_there_and_follows_the_plans_preset(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOREGLASS_VLM_PRESET", "qwen2.5-vl-7b-fp8")
    command.main(["--dir", str(tmp_path), "--list"])
    listed = capsys.readouterr().out
    assert PRESETS["qwen2.5-vl-7b-fp8"].model in listed
    assert len(re.findall("to fetch", listed)) == len(SERVICES) + 1


def test_a_voice_is_fetched_where_it_is_asked_for_and_one_that_needs_nothing_is_no_choice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command.main(["--dir", str(tmp_path), "--list"])
    assert "whisper" not in capsys.readouterr().out
    command.main(["--dir", str(tmp_path), "--list", "--only", "stt", "--voice", "vllm-whisper"])
    assert capsys.readouterr().out.startswith("openai/whisper-large-v3-turbo ")
    monkeypatch.setenv("LOREGLASS_WEIGHTS_VOICE", "whisper.cpp-cuda")
    command.main(["--dir", str(tmp_path), "--list", "--only", "stt"])
    assert capsys.readouterr().out.startswith("ggerganov/whisper.cpp ")
    with pytest.raises(SystemExit):
        command.main(["--list", "--voice", "kokoro"])
    assert "no preset with weights to fetch" in capsys.readouterr().err
    monkeypatch.setenv("LOREGLASS_WEIGHTS_VOICE", "parakeet")
    with pytest.raises(SystemExit):
        command.main(["--list"])


def test_the_folder_in_the_containers_is_the_default() -> None:
    assert FOLDER == "/weights"
