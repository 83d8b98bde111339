"""The gateway's part in keeping the placement plan: slots on shared cards, and who is over its share."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.startup import WrongSettings
from contracts.operations import Info
from gateway.planning.placement import Cards, PlacementPlan, ServiceShare, compare

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


@given(text=st.text(max_size=60))
def test_any_invalid_plan_is_wrong_settings(text: str) -> None:
    with pytest.raises(WrongSettings):
        PlacementPlan.parse(text)


def test_services_of_one_card_share_a_slot_and_those_without_a_card_need_none() -> None:
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


def test_services_that_keep_to_the_plan_are_left_out() -> None:
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
    ("name", "place", "sentence"),
    [
        (
            "reranker",
            info("reranker", peak=5_120),
            "reranker has held 5120 MiB of GPU 0; its share there is 4900 MiB.",
        ),
        ("reranker", info("reranker", "cpu"), "reranker runs on the CPU; the plan has it on GPU 0."),
        ("reranker", info("reranker", "cuda:1"), "reranker runs on cuda:1; the plan has it on GPU 0."),
        ("text_search", info("text_search", "cuda"), "text_search runs on cuda; the plan has it on GPU 1."),
        ("ocr", info("ocr"), "ocr runs on cuda:0; the plan has it on the CPU."),
        ("painter", info("painter"), "painter runs on cuda:0; the plan does not know it."),
    ],
)
def test_a_difference_from_the_plan_is_one_sentence(name: str, place: Info, sentence: str) -> None:
    assert compare(PLAN, {name: place, "cropper": info("cropper")}) == {name: sentence}
