"""The simulation runs the real gateway: light loads are served whole, heavy ones in time or refused."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import cache
from pathlib import Path

import anyio
import pytest
from pydantic import BaseModel
from typer.testing import CliRunner
from typer.testing import Result as ResultOfCommand

from capacity.placement.node_file import read
from capacity.simulation.cli import app
from capacity.simulation.load import Load, parse_mix
from capacity.simulation.nodes import mix_of, nodes_of
from capacity.simulation.outcomes import Result
from capacity.simulation.platforms import node_settings, open_platform
from capacity.simulation.run import Nodes, simulate
from capacity.simulation.transport import node_client, service_url
from capacity.simulation.virtual_time import run_virtual
from capacity.standins import SERVICES, Calibration, StandInReply, StandInRequest
from capacity.standins.exchange import json_reply
from chassis.http.client import whole
from chassis.resilience.deadlines import Clock
from chassis.startup import WrongSettings
from contracts.answer import Route
from gateway.planning.latencies import VlmSpeed, load_latencies

L40S = Calibration.l40s()
LIGHT = Load(rate=0.2, seconds=60)
HEAVY = Load(rate=16.0, seconds=20)


def _one(**chosen: object) -> Nodes:
    return Nodes(L40S, node_settings(L40S, **chosen))


@cache
def _light() -> Result:
    return simulate(_one(), LIGHT)


@cache
def _heavy() -> Result:
    return simulate(_one(), HEAVY)


def test_the_same_seed_gives_the_same_result() -> None:
    assert simulate(_one(), LIGHT) == _light()


def test_another_seed_gives_another() -> None:
    assert simulate(_one(), replace(LIGHT, seed=8)) != _light()
    assert simulate(replace(_one(), seed=8), LIGHT) != _light()


def test_an_almost_idle_node_answers_everything_in_full() -> None:
    total = _light().total
    assert (total.offered, total.answered, total.degraded) == (12, 12, 0)


def test_counts_of_the_routes_add_up_to_the_total() -> None:
    result = _heavy()
    for name in ("offered", "answered", "degraded", "refused", "shed", "failed"):
        assert sum(getattr(each, name) for each in result.routes.values()) == getattr(result.total, name)


@pytest.mark.parametrize(("route", "calls"), [(Route.DIRECT, 1.0), (Route.VERIFY, 2.0), (Route.RAG, 2.0)])
def test_each_route_asks_the_model_as_often_as_the_pipeline_says(route: Route, calls: float) -> None:
    result = simulate(_one(), replace(LIGHT, mix=((route, 1.0),)))
    assert result.model_calls == calls
    assert result.routes[route].answered == 12


def test_the_papers_own_order_asks_the_model_more_often_and_takes_longer() -> None:
    ours = simulate(_one(), replace(LIGHT, mix=parse_mix("rag=1")))
    theirs = simulate(_one(), replace(LIGHT, mix=parse_mix("rag=1"), pipeline="qa-dragon"))
    assert theirs.model_calls > 2 * ours.model_calls
    assert theirs.total.p50_ms > 1.5 * ours.total.p50_ms


def test_a_laptop_with_nine_seconds_to_the_first_word_answers_those_who_wait_a_minute() -> None:
    speed = VlmSpeed(vision_ms=9_000, prefill_ms_per_1k=1_000, decode_ms_per_token=60)
    laptop = Calibration(load_latencies("pocket", speed), speed, sequences=1)
    nodes, seldom = Nodes(laptop, node_settings(laptop)), Load(rate=0.005, seconds=2_000)
    patient = simulate(nodes, replace(seldom, deadline_ms=60_000))
    assert (patient.total.answered, patient.total.degraded) == (10, 0)
    assert patient.model_calls > 1
    hasty = simulate(nodes, replace(seldom, deadline_ms=10_000))
    assert (hasty.total.answered, hasty.total.degraded, hasty.model_calls) == (10, 10, 0)


@pytest.mark.parametrize(
    ("pipeline", "calls"),
    [
        *(("llm-only", 1.0), ("cot", 1.0), ("direct-rag", 1.0), ("crag-mm-task-1", 1.0)),
        *(("crag-mm-task-2", 2.0), ("crag-mm-task-3", 2.0), ("three-step", 5.0), ("wiki-prf", 4.0)),
    ],
)
def test_each_published_baseline_asks_the_model_as_often_as_its_paper_says(
    pipeline: str, calls: float
) -> None:
    result = simulate(_one(), replace(LIGHT, pipeline=pipeline, deadline_ms=30_000))
    assert result.model_calls == calls
    assert result.total.answered + result.total.refused == result.total.offered


def test_under_five_times_the_load_nothing_comes_after_its_deadline() -> None:
    total = _heavy().total
    assert total.failed == 0
    assert total.p99_ms <= HEAVY.deadline_ms
    assert total.refused + total.shed > 0
    assert total.answered > 0


def test_the_models_queue_never_holds_more_than_the_gateway_lets_in() -> None:
    assert _heavy().model_queue <= L40S.sequences
    assert 1 < _heavy().batch <= L40S.sequences


def test_two_nodes_bear_more_than_one() -> None:
    load = replace(HEAVY, rate=4.0, seconds=10)
    one, two = simulate(_one(), load), simulate(replace(_one(), count=2), load)
    assert two.total.answered >= one.total.answered
    assert two.total.degraded < one.total.degraded
    assert two.total.degraded < one.total.degraded


def test_progress_is_told_up_to_the_end() -> None:
    told: list[float] = []
    simulate(_one(), LIGHT, told.append)
    assert told == sorted(told)
    assert told[-1] == LIGHT.seconds


def test_a_pipeline_that_does_not_exist_is_refused() -> None:
    with pytest.raises(WrongSettings, match=r"'dragon'; there are .*, loreglass, qa-dragon, "):
        simulate(_one(), replace(LIGHT, pipeline="dragon"))


def test_the_environment_of_another_gateway_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = node_settings(Calibration.l40s())
    for name, value in {"MAX_WAITING": "none", "SESSIONS": "redis", "KEYS": "/none"}.items():
        monkeypatch.setenv(f"LOREGLASS_GATEWAY_{name}", value)
    assert node_settings(Calibration.l40s()) == before


def test_nothing_is_left_at_work_when_all_is_over() -> None:
    async def main(clock: Clock) -> list[int]:
        async with open_platform(node_settings(L40S), L40S, 1, clock) as platform:
            async with anyio.create_task_group() as group:
                for arrival in replace(HEAVY, seconds=3).arrivals():
                    group.start_soon(platform.ask, arrival, HEAVY, clock())
            return [
                platform.asked,
                platform.node.vlm.waiting + platform.node.vlm.running,
                *(platform.node.counts[name].in_flight for name in SERVICES),
            ]

    assert set(run_virtual(main)) == {0}


def test_requests_reach_the_service_that_their_host_names() -> None:
    seen: list[tuple[str, StandInRequest]] = []

    class Told(BaseModel):
        ok: bool = True

    async def handle(service: str, request: StandInRequest) -> StandInReply:
        seen.append((service, request))
        return json_reply(Told())

    async def main(clock: Clock) -> bytes:
        async with node_client(handle) as http:
            url = f"{service_url('image_search')}/v1/image-search"
            sent = {"X-Deadline-Ms": "70"}
            async with http.exchange("POST", url, sent, [b"--x", b"jpeg"]) as response:
                return await whole(response, 100)

    assert json.loads(run_virtual(main)) == {"ok": True}
    service, request = seen[0]
    assert (service, request.method, request.path) == ("image_search", "POST", "/v1/image-search")
    assert request.header("x-deadline-ms") == "70"
    assert b"jpeg" in request.content


def test_closing_a_stream_early_tells_the_node() -> None:
    left: list[float] = []

    async def main(clock: Clock) -> float:
        async def endless() -> AsyncGenerator[bytes, None]:
            try:
                while True:
                    await anyio.sleep(1)
                    yield b"more"
            finally:
                left.append(clock())

        async def handle(service: str, request: StandInRequest) -> StandInReply:
            return StandInReply(200, {}, endless())

        async with node_client(handle) as http, http.exchange("GET", service_url("vlm"), {}) as response:
            async for _ in response.pieces():
                break
        return clock()

    assert run_virtual(main) == 1.0
    assert left == [1.0]


PLACEMENT = """
node: {name: small, memory_gb: 48, bandwidth_gb_s: 864, bf16_tflops: 362, fp8_tflops: 733}
traffic: {direct: 0.5, verify: 0.0, rag: 0.5}
vlm: {preset: llama-3.2-11b-vision-fp8, replicas: REPLICAS}
services:
  domain_router: {engine: blip2, weights_gb: 2.4, workspace_gb: 0.5}
  cropper: {engine: grounding_dino, weights_gb: 0.7, workspace_gb: 2.4}
  image_search: {engine: clip, weights_gb: 0.9, workspace_gb: 0.5}
  text_search: {engine: bge, gpu: cpu}
  reranker: {engine: cascade, weights_gb: 3.6, workspace_gb: 1.5, replicas: 2}
  verifier: {engine: white_box, gpu: cpu, concurrency: 8}
  ocr: {engine: pocket, gpu: cpu, concurrency: 3}
  reader: {engine: pocket, gpu: cpu, concurrency: 2}
"""


def _placement(folder: Path, replicas: int = 1) -> Path:
    path = folder / "small.yaml"
    path.write_text(PLACEMENT.replace("REPLICAS", str(replicas)))
    return path


def test_the_simulated_node_is_the_one_that_the_placement_file_describes(tmp_path: Path) -> None:
    file = read(_placement(tmp_path))
    nodes = nodes_of(file, 3, deadline_ms=10_000, seed=1)
    calibration, settings = nodes.calibration, nodes.settings
    assert nodes.count == 3
    assert calibration.beside_vlm == {"domain_router", "cropper", "image_search", "reranker"}
    assert (calibration.concurrency["ocr"], calibration.concurrency["reranker"]) == (3, 4)
    assert calibration.memory_mib["text_search"] == 0
    assert settings.vlm_sequences == calibration.sequences
    assert settings.vlm_speed == calibration.speed
    assert settings.placement is not None
    assert mix_of(file) == ((Route.DIRECT, 0.5), (Route.VERIFY, 0.0), (Route.RAG, 0.5))


def _run(*arguments: object) -> ResultOfCommand:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "80"})


def test_the_command_prints_a_row_for_each_rate_and_the_knee(tmp_path: Path) -> None:
    told = _run("--placement", _placement(tmp_path), "--rate", "0.4,0.2", "--seconds", 20)
    assert told.exit_code == 0
    lines = [line.split() for line in told.stdout.splitlines()]
    assert ["0.2", "4", "100.0"] in [line[:3] for line in lines]
    assert ["0.4", "8", "100.0"] in [line[:3] for line in lines]
    assert "The knee: at 0.4 questions a second" in told.stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--mix", "direkt=1"], "The mix names a route 'direkt'; there are direct, verify, rag."),
        (["--rate", "fast"], "Rates are numbers with commas between them, not 'fast'."),
        (["--seconds", "0"], "The seconds of a load must be above 0, not 0.0."),
        (["--pipeline", "qa"], "There is no pipeline 'qa'; there are cot, crag-mm-task-1, "),
        (
            ["--rate", "1e308"],
            "1e+308 questions a second for 120 seconds are more than 1,000,000; ask at a lower rate or for a "
            "shorter time.",
        ),
    ],
)
def test_the_command_refuses_what_cannot_be_in_one_sentence(
    tmp_path: Path, given: list[str], said: str
) -> None:
    refused = _run("--placement", _placement(tmp_path), *given)
    assert refused.exit_code == 1
    told = (refused.stdout + refused.stderr).strip()
    assert told.startswith(said)
    assert told.endswith(".")
    assert "\n" not in told


def test_a_node_of_several_model_servers_is_not_simulated(tmp_path: Path) -> None:
    refused = _run("--placement", _placement(tmp_path, replicas=2))
    assert refused.exit_code == 1
    assert "set vlm.replicas to 1 and use more nodes" in refused.stdout + refused.stderr
