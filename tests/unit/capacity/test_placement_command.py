"""`loreglass plan`: what it prints and writes, and whether those who read it understand it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from pydantic_settings import BaseSettings
from typer.testing import CliRunner

from capacity.cli import app
from capacity.placement.environment import environment, files
from capacity.placement.node_file import SERVICES, read
from capacity.placement.proposal import Proposal, propose
from chassis.settings import ModelSettings
from gateway.planning.latencies import VlmSpeed
from gateway.planning.placement import PlacementPlan
from gateway.settings import GatewaySettings
from services.cropper.settings import CropperSettings
from services.domain_router.settings import DomainRouterSettings
from services.image_search.settings import ImageSearchSettings
from services.ocr.settings import OcrSettings
from services.reader.settings import ReaderSettings
from services.reranker.settings import RerankerSettings
from services.text_search.settings import TextSearchSettings
from services.verifier.settings import VerifierSettings
from services.vlm.__main__ import main as serve_vlm
from tests.deploy.compose_file import read_env
from tests.unit.capacity.placement_files import DROP, SHIPPED, changed

Plan = Callable[..., tuple[int, str]]

SETTINGS: Mapping[str, type[BaseSettings]] = {
    "gateway": GatewaySettings,
    "cropper": CropperSettings,
    "domain_router": DomainRouterSettings,
    "image_search": ImageSearchSettings,
    "ocr": OcrSettings,
    "reader": ReaderSettings,
    "reranker": RerankerSettings,
    "text_search": TextSearchSettings,
    "verifier": VerifierSettings,
}


@pytest.fixture
def plan() -> Plan:
    """Exit status and output of `loreglass plan`."""

    def run(*words: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["plan", *map(str, words)], env={"COLUMNS": "120", "NO_COLOR": "1"})
        return result.exit_code, result.output + (str(result.exception) if result.exit_code else "")

    return run


@pytest.fixture
def shipped() -> Proposal:
    return propose(read(SHIPPED), 1, 10_000)


def test_the_committed_files_are_what_the_plan_would_write(plan: Plan) -> None:
    assert plan(SHIPPED, "--check") == (0, "11 files are up to date.\n")


def test_the_plan_says_whether_a_voice_fits_and_what_vllm_then_gets(plan: Plan, tmp_path: Path) -> None:
    with_voice, without = (propose(read(SHIPPED, voice=voice), 1, 10_000) for voice in (True, False))
    _, said = plan(SHIPPED)
    assert "with --voice: it fits, 5.2 GB for whisper.cpp-cuda and kokoro-cuda" in said
    assert f"vLLM then has {with_voice.vlm.share:g} of the card" in said
    assert f"(now {without.vlm.share:g} for {without.vlm.sequences})" in said
    assert "with --voice: llama-3.2-11b-vision and" in plan(SHIPPED, "--preset", "llama-3.2-11b-vision")[1]
    assert "with --voice" not in plan(changed(tmp_path, {"voice": DROP}))[1]
    status, said = plan(changed(tmp_path, {"voice.stt.preset": "vllm-whisper"}), "--voice")
    assert status == 0
    assert "voice: stt vllm-whisper --gpu-memory-utilization 0.08, tts kokoro-cuda" in said


def test_what_a_voice_changes_is_what_is_committed_for_it_and_nothing_else() -> None:
    written = [environment(propose(read(SHIPPED, voice=voice), 1, 10_000)) for voice in (False, True)]
    without, found = (
        {name: value for each in every.values() for name, value in each.items()} for every in written
    )
    changes = {name: value for name, value in found.items() if without.get(name) != value}
    assert changes == read_env(SHIPPED.parent / "voice.env")


def test_a_file_that_was_changed_by_hand_is_found(plan: Plan, tmp_path: Path) -> None:
    file = changed(tmp_path, {})
    assert plan(file, "--write", tmp_path)[0] == 0
    assert plan(file, "--check")[0] == 0
    (tmp_path / "l40s" / "vlm.env").write_text("LOREGLASS_VLM_MAX_NUM_SEQS=64\n", "utf-8")
    (tmp_path / "l40s" / "ocr.env").unlink()
    status, said = plan(file, "--check")
    assert status == 1
    assert "l40s/vlm.env, l40s/ocr.env" in said


def test_what_is_written_is_the_same_each_time(shipped: Proposal) -> None:
    again = propose(read(SHIPPED), 1, 10_000)
    assert files(shipped, "l40s.yaml", []) == files(again, "l40s.yaml", [])


def test_options_that_were_given_stand_in_the_files(plan: Plan, tmp_path: Path) -> None:
    file = changed(tmp_path, {})
    assert plan(file, "--write", tmp_path, "--cards", 2, "--deadline-ms", 5000)[0] == 0
    head = (tmp_path / "l40s.env").read_text("utf-8").splitlines()[0]
    assert "`loreglass plan node.yaml --cards 2 --deadline-ms 5000 --write .`" in head
    assert plan(file, "--check")[0] == 1
    assert plan(file, "--check", "--cards", 2, "--deadline-ms", 5000)[0] == 0


def test_every_line_is_a_name_and_a_value_without_spaces_or_quotes_around(shipped: Proposal) -> None:
    for content in files(shipped, "l40s.yaml", []).values():
        for line in filter(None, content.splitlines()):
            name, _, value = line.partition("=")
            assert line.startswith("# ") or (name.isidentifier() and name.isupper() and " " not in value)
            assert not value.startswith(('"', "'"))
            assert "$" not in value


def test_one_file_has_what_the_others_have(shipped: Proposal) -> None:
    written = files(shipped, "l40s.yaml", [])
    whole = next(content for path, content in written.items() if path.parent == Path("."))
    for path, content in written.items():
        if path.parent != Path("."):
            assert set(content.splitlines()) <= set(whole.splitlines())


def test_services_and_gateway_accept_what_is_written_for_them(
    shipped: Proposal, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = environment(shipped)
    assert set(written) == {*SETTINGS, "vlm"}
    assert set(SERVICES) < set(written)
    for variables in written.values():
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
    for process, settings_class in SETTINGS.items():
        settings = settings_class()
        if isinstance(settings, ModelSettings):
            assert settings.engine == shipped.file.services[process].engine
            assert settings.device == "cuda:0"
            assert settings.placement.memory_share < 0.2
            assert settings.pool_size.workers == shipped.file.services[process].concurrency
        known = {
            f"{settings_class.model_config['env_prefix']}{field}".upper()
            for field in settings_class.model_fields
        }
        assert set(written[process]) <= known


def test_a_neural_service_on_the_cpu_is_told_so_and_how_many_may_wait_for_its_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_cpu = {"engine": "bge", "gpu": "cpu", "concurrency": 12, "batch": 4}
    for name, value in environment(
        propose(read(changed(tmp_path, {"services.text_search": on_cpu})), 1, 10_000)
    )["text_search"].items():
        monkeypatch.setenv(name, value)
    settings = TextSearchSettings()
    assert (settings.device, settings.max_batch, settings.pool_size.workers) == ("cpu", 4, 12)


@pytest.mark.parametrize("name", ["ocr", "verifier"])
def test_services_without_a_model_are_written_nothing_about_cards(name: str, shipped: Proposal) -> None:
    settings = SETTINGS[name]
    prefix = settings.model_config["env_prefix"]
    assert {each.removeprefix(prefix).lower() for each in environment(shipped)[name]} <= set(
        settings.model_fields
    )
    assert not issubclass(settings, ModelSettings)


def test_no_deadline_is_written_that_a_gateway_would_refuse(plan: Plan, tmp_path: Path) -> None:
    most = GatewaySettings().max_deadline_ms
    assert plan(SHIPPED, "--deadline-ms", most, "--write", tmp_path)[0] == 0
    assert plan(SHIPPED, "--deadline-ms", most + 1, "--write", tmp_path)[0] == 2


def test_comparing_and_writing_at_once_is_refused(plan: Plan, tmp_path: Path) -> None:
    status, said = plan(SHIPPED, "--check", "--write", tmp_path / "out")
    assert status == 1
    assert "--check compares" in said
    assert not (tmp_path / "out").exists()


def test_the_gateway_s_plan_and_speed_can_be_read_back(shipped: Proposal) -> None:
    variables = environment(shipped)["gateway"]
    plan = PlacementPlan.parse(variables["LOREGLASS_GATEWAY_PLACEMENT"])
    assert plan.vlm_sequences == int(variables["LOREGLASS_GATEWAY_VLM_SEQUENCES"]) == shipped.vlm_sequences
    assert plan.services["ocr"].gpu is None
    assert plan.services["reranker"].gpu == 0
    assert plan.services["reranker"].memory_mib == pytest.approx(5100 * 1e6 / 2**20, rel=0.02)
    speed = TypeAdapter(VlmSpeed).validate_json(variables["LOREGLASS_GATEWAY_VLM_SPEED"])
    assert speed == VlmSpeed(130, 48, 14.7)


def test_vllm_is_started_with_the_planned_sizes(
    shipped: Proposal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment(shipped)["vlm"].items():
        monkeypatch.setenv(name, value)
    serve_vlm(["--print"])
    line = capsys.readouterr().out
    assert f"--gpu-memory-utilization {shipped.vlm.share:g} " in line
    assert f"--max-model-len {shipped.vlm.context} --max-num-seqs {shipped.vlm.sequences} " in line
    assert "CUDA_VISIBLE_DEVICES=0" in line


def test_replicas_of_the_model_are_told_their_card_where_they_are_started(tmp_path: Path) -> None:
    file = read(changed(tmp_path, {"node.cards": 2, "vlm.replicas": 2}))
    written = environment(propose(file, 2, 10_000))
    assert "LOREGLASS_VLM_GPU" not in written["vlm"]


def test_the_plan_is_readable_without_colour(plan: Plan) -> None:
    status, said = plan(SHIPPED, "--cards", 2)
    assert status == 0
    assert "l40s: llama-3.2-11b-vision-fp8 on 1 card of 48 GB" in said
    assert "l40s: llama-3.2-11b-vision-fp8 on 2 cards of 48 GB" in said
    bars = [line for line in said.splitlines() if "▕" in line]
    assert len(bars) == 3
    assert len({len(bar) for bar in bars}) == 1
    assert "\x1b" not in said
    for word in ("--gpu-memory-utilization", "--max-num-seqs", "questions at once", "req/s", "V vlm", "free"):
        assert word in said
    for route in ("direct", "verify", "rag", "qa-dragon"):
        assert route in said


@pytest.mark.parametrize(("cards", "replicas"), [(2, 2), (11, 1)])
def test_no_line_is_longer_than_a_terminal_and_all_bars_begin_alike(
    tmp_path: Path, cards: int, replicas: int
) -> None:
    file = changed(tmp_path, {"node.cards": cards, "vlm.replicas": replicas})
    wide = {"COLUMNS": "200", "NO_COLOR": "1"}
    lines = CliRunner().invoke(app, ["plan", str(file)], env=wide).output.splitlines()
    whole = lines[next(place for place, line in enumerate(lines) if f"on {cards} cards" in line) :]
    assert max(len(line.rstrip()) for line in whole) <= 80
    assert len({line.index("▕") for line in whole if "▕" in line}) == 1


@pytest.mark.parametrize(
    "changes",
    [{"services.reranker.share": -1}, {"vlm.preset": "x"}, {"node.memory_gb": 8}, {"vlm.share": 0.1}],
)
def test_a_refusal_is_one_sentence_and_status_1(
    plan: Plan, tmp_path: Path, changes: dict[str, object]
) -> None:
    for words in ([], ["--check"], ["--write", tmp_path / "out"]):
        result = CliRunner().invoke(app, ["plan", str(changed(tmp_path, changes)), *map(str, words)])
        assert result.exit_code == 1
        assert not (tmp_path / "out").exists()
        assert "Traceback" not in result.output


def test_a_folder_that_cannot_be_written_is_one_sentence(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "l40s").write_text("in the way", "utf-8")
    status, _ = plan(SHIPPED, "--write", tmp_path)
    assert status == 1


def test_the_plan_names_no_more_than_the_gateway_knows(shipped: Proposal) -> None:
    content = json.loads(environment(shipped)["gateway"]["LOREGLASS_GATEWAY_PLACEMENT"])
    assert set(content["services"]) == set(SERVICES)
