"""`loreglass plan`: what it prints and writes, and whether the processes accept it."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from capacity.cli import app
from capacity.environment import environment, files, plan_of, write
from capacity.node_file import SERVICES, read
from capacity.proposal import Proposal, propose
from chassis.settings import ModelSettings
from deploy.inventory import APPS
from gateway.planning.latencies import VlmSpeed
from gateway.planning.placement import PlacementPlan
from gateway.settings import GatewaySettings
from services.text_search.settings import TextSearchSettings
from services.vlm.__main__ import main as serve_vlm
from tests.deploy.compose_file import read_env
from tests.unit.capacity.node_files import SEEING_RERANKER, SEEING_SEARCH, SHIPPED, changed


def plan(*words: object) -> tuple[int, str]:
    """Return the exit status and the output of `loreglass plan`."""
    result = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert "Traceback" not in result.output
    return result.exit_code, result.output


def use(monkeypatch: pytest.MonkeyPatch, *variables: Mapping[str, str]) -> None:
    for name, value in ((name, value) for each in variables for name, value in each.items()):
        monkeypatch.setenv(name, value)


@pytest.fixture
def shipped() -> Proposal:
    return propose(read(SHIPPED), 10_000)


def test_committed_files_equal_the_plan(shipped: Proposal) -> None:
    contents = files(shipped, SHIPPED.name, [])
    assert len(contents) == 11
    assert {path: (SHIPPED.parent / path).read_text("utf-8") for path in contents} == contents


def test_voice_changes_only_its_env_files() -> None:
    without, results = (
        {name: value for each in environment(propose(file, 10_000)).values() for name, value in each.items()}
        for file in (read(SHIPPED), read(SHIPPED, voice=True))
    )
    changes = {name: value for name, value in results.items() if without.get(name) != value}
    assert changes == read_env(SHIPPED.parent / "voice.env")


def test_the_table_has_each_card_and_the_options_of_the_model_server() -> None:
    status, output = plan(SHIPPED, "--cards", 2, "--voice")
    assert status == 0
    assert "l40s: llama-3.2-11b-vision-fp8 on 2 cards of 48 GB" in output
    rows = [line.split()[:2] for line in output.splitlines()]
    assert ["1", "reranker"] in rows
    assert "vLLM: --gpu-memory-utilization 0.601 --max-model-len 16384 --max-num-seqs 10" in output
    assert "stt: whisper.cpp-cuda" in output
    assert "10 questions at once" in output
    assert max(map(len, output.splitlines())) <= 80


def test_options_are_written_and_whisper_gets_its_memory_share(tmp_path: Path) -> None:
    file = changed(tmp_path, {"voice.stt.preset": "vllm-whisper"})
    assert "stt: vllm-whisper --gpu-memory-utilization 0.08" in plan(file, "--voice")[1]
    options = ("--cards", 2, "--sequences", 12, "--deadline-ms", 5000)
    assert plan(file, "--write", tmp_path, *options)[0] == 0
    head = (tmp_path / "l40s.env").read_text("utf-8").splitlines()[0]
    assert "`loreglass plan node.yaml --cards 2 --sequences 12 --deadline-ms 5000 --write .`" in head


def test_compose_and_kustomize_read_equal_values(shipped: Proposal) -> None:
    written = files(shipped, "l40s.yaml", [])
    for content in written.values():
        for line in filter(None, content.splitlines()):
            name, _, value = line.partition("=")
            assert line.startswith("# ") or (name.isidentifier() and name.isupper())
            assert line.startswith("# ") or not set(value) & set(" $'")
            assert not value.startswith('"')
    whole = written.pop(Path("l40s.env")).splitlines()
    assert all(set(content.splitlines()) <= set(whole) for content in written.values())


def test_services_and_gateway_accept_their_variables(
    shipped: Proposal, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = environment(shipped)
    assert set(written) == {*(each.name for each in APPS), "vlm"}
    assert set(SERVICES) < set(written)
    use(monkeypatch, *written.values())
    for each in APPS:
        settings = each.settings()
        if isinstance(settings, ModelSettings):
            service = shipped.file.services[each.name]
            assert (settings.engine, settings.device) == (service.engine, "cuda:0")
            assert settings.placement.memory_share < 0.2
            assert settings.pool_size.workers == service.concurrency
        assert set(written[each.name]) <= {
            f"{each.prefix}{field}".upper() for field in each.settings.model_fields
        }


def test_model_on_the_cpu_gets_its_device_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu = {"engine": "bge", "gpu": "cpu", "concurrency": 12, "batch": 4}
    result = propose(read(changed(tmp_path, {"services.text_search": on_cpu})), 10_000)
    use(monkeypatch, environment(result)["text_search"])
    settings = TextSearchSettings()
    assert (settings.device, settings.max_batch, settings.pool_size.workers) == ("cpu", 4, 12)


def test_the_gateway_reads_its_plan_and_the_model_s_speed(shipped: Proposal) -> None:
    variables = environment(shipped)["gateway"]
    read_back = PlacementPlan.parse(variables["LOREGLASS_GATEWAY_PLACEMENT"])
    assert set(read_back.services) == set(SERVICES)
    assert read_back.vlm_sequences == int(variables["LOREGLASS_GATEWAY_MAX_IN_FLIGHT"]) == 10
    assert read_back.services["ocr"].gpu is None
    assert read_back.services["reranker"].memory_mib == pytest.approx(5100 * 1e6 / 2**20, rel=0.02)
    speed = TypeAdapter(VlmSpeed).validate_json(variables["LOREGLASS_GATEWAY_VLM_SPEED"])
    assert speed == VlmSpeed(130, 48, 14.7)


def test_vllm_is_started_with_the_planned_sizes(
    shipped: Proposal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, environment(shipped)["vlm"])
    serve_vlm(["--print"])
    line = capsys.readouterr().out
    assert "--max-model-len 16384 --max-num-seqs 10 --gpu-memory-utilization 0.6 " in line
    assert "CUDA_VISIBLE_DEVICES=0" in line


def test_multimodal_retrievers_fit_and_get_their_own_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeing = {"services.text_search": SEEING_SEARCH, "services.reranker": SEEING_RERANKER}
    proposal = propose(read(changed(tmp_path, seeing)), 10_000)
    assert proposal.vlm.sequences >= 4
    assert plan_of(proposal).services["text_search"].gpu is None  # its model is on the card, it is not
    write(tmp_path, files(proposal, "node.yaml", []))
    for model in ("text_search_model", "reranker_model"):
        use(monkeypatch, read_env(tmp_path / proposal.file.node.name / f"{model}.env"))
        serve_vlm(["--print"])
        line = capsys.readouterr().out
        assert f"--served-model-name {proposal.file.services[model.removesuffix('_model')].preset} " in line
        assert "--gpu-memory-utilization 0.16 " in line
    use(monkeypatch, environment(proposal)["text_search"])
    assert TextSearchSettings().sees_photos


def test_deadlines_that_a_gateway_refuses_are_refused(tmp_path: Path) -> None:
    most = GatewaySettings().max_deadline_ms
    assert plan(SHIPPED, "--deadline-ms", most, "--write", tmp_path)[0] == 0
    assert plan(SHIPPED, "--deadline-ms", most + 1, "--write", tmp_path)[0] == 2


@pytest.mark.parametrize(
    "changes",
    [{"services.reranker.batch": -1}, {"vlm.preset": "x"}, {"node.memory_gb": 8}],
)
def test_a_refused_file_writes_nothing(tmp_path: Path, changes: dict[str, object]) -> None:
    file = changed(tmp_path, changes)
    for words in ([], ["--write", tmp_path / "out"]):
        assert plan(file, *words)[0] == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_ends_with_status_1(tmp_path: Path) -> None:
    (tmp_path / "l40s").write_text("in the way", "utf-8")
    assert plan(SHIPPED, "--write", tmp_path)[0] == 1
