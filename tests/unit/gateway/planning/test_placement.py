"""The placement plan: slots on shared cards, and services that are over their share or elsewhere."""

from dataclasses import replace
from importlib.metadata import version
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from pydantic import ValidationError
from structlog.testing import capture_logs

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline
from chassis.startup import WrongSettings
from chassis.validation import from_environment
from contracts.operations import Info
from gateway.clients.services import Services
from gateway.planning.placement import Cards, PlacementPlan, ServiceShare, compare
from gateway.serving.guards import PlacementWatch
from gateway.settings import GatewaySettings, Reasoning
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import gateway_before
from tests.unit.gateway.series import read

BURST_MS = 100.0
PLAN = PlacementPlan(
    name="l40s",
    services={
        "reranker": ServiceShare(0, 4_900, 2.0, 1.45),
        "cropper": ServiceShare(0, 3_000, 70.0),
        "text_search": ServiceShare(1, 1_000, 11.0, 2.0),
        "ocr": ServiceShare(None),
    },
    burst_ms=BURST_MS,
    vlm_sequences=8,
)


def info(service: str, device: str = "cuda:0", peak: int = 0) -> Info:
    return Info(service=service, version="1", engine="x", device=device, memory_peak_mib=peak)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Invalid JSON"),
        ('{"name": "a"}', "services: must be given"),
        (PLAN.to_json().replace("100.0", "NaN"), "burst_ms: Input should be a finite number"),
        (PLAN.to_json().replace("4900", "true"), "services.reranker.memory_mib"),
        (PLAN.to_json().replace('"fixed_ms":70.0', '"fixed":70.0'), "services.cropper.fixed"),
    ],
)
def test_invalid_plan_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(WrongSettings) as caught:
        PlacementPlan.parse(text)
    message = str(caught.value)
    assert message.startswith("The placement plan cannot be used: ")
    assert sentence in message
    assert "\n" not in message


def test_services_of_one_gpu_share_a_slot() -> None:
    plan = PlacementPlan.parse(PLAN.to_json())
    assert plan == PLAN
    cards = Cards(plan)
    assert cards.slot("reranker") is cards.slot("cropper")
    assert cards.slot("reranker") is not cards.slot("text_search")
    assert {card: gate.capacity for card, gate in cards.gates.items()} == {0: BURST_MS, 1: BURST_MS}
    for name in ("ocr", "vlm", "unheard-of"):
        assert cards.slot(name) is None
        assert cards.weight_ms(name, 100) == 0
    assert cards.weight_ms("reranker", 60) == pytest.approx(89.0)
    assert cards.weight_ms("cropper") == 70
    assert not Cards(replace(PLAN, services={"ocr": ServiceShare(None)})).gates


def test_services_that_match_the_plan_are_not_listed() -> None:
    infos = {
        "reranker": info("reranker", peak=4_900),
        "cropper": info("cropper", "cuda", peak=10),
        "text_search": info("text_search", "cuda:1"),
        "ocr": info("ocr", "cpu"),
        "verifier": info("verifier", "cpu"),
    }
    assert compare(PLAN, infos) == {}
    assert compare(PLAN, {}) == {}


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (info("reranker", peak=5_120), "reranker has held 5120 MiB of GPU 0; its share there is 4900 MiB."),
        (info("reranker", "cpu"), "reranker runs on the CPU; the plan has it on GPU 0."),
        (info("reranker", "cuda:1"), "reranker runs on cuda:1; the plan has it on GPU 0."),
        (info("text_search", "cuda"), "text_search runs on cuda; the plan has it on GPU 1."),
        (info("ocr"), "ocr runs on cuda:0; the plan has it on the CPU."),
        (info("painter"), "painter runs on cuda:0; the plan does not know it."),
    ],
)
def test_a_difference_from_the_plan_is_one_sentence(place: Info, sentence: str) -> None:
    assert compare(PLAN, {place.service: place, "cropper": info("cropper")}) == {place.service: sentence}


def planned(**shares: ServiceShare) -> PlacementPlan:
    """Everything on the CPU, as the fakes are, but for `shares`."""
    services = {name: ServiceShare(None) for name in Services.names()} | shares
    return PlacementPlan("test", services, burst_ms=100, vlm_sequences=4)


async def test_misplaced_service_is_reported_and_measured() -> None:
    async with gateway_before(FakeServices(), placement=planned().to_json()) as world:
        ready = await world.client.get("/health/ready")
        assert ready.json()["checks"]["placement"] == "ok"
    plan = planned(reranker=ServiceShare(0, 4_000))
    async with gateway_before(FakeServices(), placement=plan.to_json()) as world:
        ready = await world.client.get("/health/ready")
        metrics = (await world.client.get("/metrics")).text
    assert ready.status_code == 200
    assert ready.json()["checks"]["placement"] == "reranker runs on the CPU; the plan has it on GPU 0."
    assert 'loreglass_placement_differs{service="reranker"} 1.0' in metrics
    assert 'loreglass_placement_differs{service="ocr"} 0.0' in metrics


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("PLACEMENT", "{", "placement"),
        ("VLM_SPEED", '{"decode_ms_per_token": -1}', "vlm_speed"),
        ("MAX_IN_FLIGHT", "0", "max_in_flight"),
        ("OCR_URL", "http://[::1", "ocr_url"),
    ],
)
def test_a_wrong_budget_is_refused_at_start_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, named: str
) -> None:
    monkeypatch.setenv(f"LOREGLASS_GATEWAY_{variable}", value)
    with pytest.raises(WrongSettings) as refused:
        from_environment(GatewaySettings)
    sentence = str(refused.value)
    assert named in sentence.lower()
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_gateway_reads_the_written_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_PLACEMENT", planned(cropper=ServiceShare(1, 10)).to_json())
    monkeypatch.setenv("LOREGLASS_GATEWAY_VLM_SPEED", '{"decode_ms_per_token": 27.8}')
    settings = from_environment(GatewaySettings)
    assert settings.placement == planned(cropper=ServiceShare(1, 10))
    assert settings.vlm_speed.decode_ms_per_token == 27.8


class ScriptedClients:
    """Clients of services that say what they run on."""

    def __init__(self, **infos: Info) -> None:
        self.infos = infos

    async def about(self, name: str, deadline: Deadline) -> Info:
        """See `Services`."""
        if name not in self.infos:
            raise DependencyUnavailable
        return self.infos[name]


async def test_planned_and_peak_memory_are_measured() -> None:
    plan = planned(reranker=ServiceShare(0, 4_000), cropper=ServiceShare(1, 500))
    clients, registry = ScriptedClients(reranker=info("reranker", "cuda:0", 3_000)), CollectorRegistry()
    watch = PlacementWatch(plan, cast(Services, clients), registry)
    await watch.check(Deadline.after_ms(60_000))
    now = read(generate_latest(registry).decode())
    planned_bytes, peak_bytes = "loreglass_placement_planned_bytes", "loreglass_placement_peak_bytes"
    assert now.value(planned_bytes, service="reranker", gpu="0") == 4_000 * 2**20
    assert now.value(planned_bytes, service="cropper", gpu="1") == 500 * 2**20
    assert now.value(peak_bytes, service="reranker", gpu="0") == 3_000 * 2**20
    assert now.labels(planned_bytes, "service") == {"reranker", "cropper"}
    assert now.labels(peak_bytes, "service") == {"reranker"}
    cards = []
    for device in ("cuda:1", "cpu", "cuda"):
        clients.infos = {"reranker": info("reranker", device, 7)}
        await watch.check(Deadline.after_ms(60_000))
        cards.append(read(generate_latest(registry).decode()).labels(peak_bytes, "gpu"))
    assert cards == [{"1"}, set(), {"0"}]


PASSWORD = "quokka"


async def test_start_log_lists_the_parts_without_passwords(services: FakeServices) -> None:
    prf = {"url": "http://prf:8000", "model": "prf", "stages": ["tool_plan"], "key": PASSWORD}
    model: dict[str, Any] = {"reasoning": Reasoning.VLM, "vlm_model": "qwen", "vlm_key": PASSWORD}
    model |= {"vlm_url": "http://vlm:8000/v1", "stage_models": {"prf": prf}}
    with capture_logs() as lines:
        async with gateway_before(services, **model, redis_url=f"redis://:{PASSWORD}@redis:6379") as world:
            await world.ask()
    (line,) = [line for line in lines if line["event"] == "started"]
    assert (line["version"], line["profile"]) == (version("loreglass"), "lite")
    assert (line["reasoning"], line["model"], line["model_url"]) == ("vlm", "qwen", "http://vlm:8000/v1")
    assert line["stage_models"] == {"prf": "http://prf:8000"}
    assert (line["sessions"], line["asks_for_keys"]) == ("memory", False)
    assert set(line["services"]) == set(Services.names())
    assert PASSWORD not in str(line)


@pytest.mark.parametrize("setting", ["vlm_url", "ocr_url"])
@pytest.mark.parametrize("address", [f"http://me:{PASSWORD}@here", f"http://here/v1?key={PASSWORD}"])
def test_address_with_a_password_is_refused(setting: str, address: str) -> None:
    with pytest.raises(ValidationError, match="must be an address alone"):
        GatewaySettings(**{setting: address})
