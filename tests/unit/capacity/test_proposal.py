"""The plan of a node: cards, memory and the model server's sizes."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from capacity.memory import VlmSizes, least_context, least_gb, service_gb
from capacity.node_file import PlacementFile, read
from capacity.packing import DoesNotFit, pack
from capacity.proposal import Proposal, propose
from capacity.speed import vlm_speed
from chassis.startup import WrongSettings
from gateway.planning.latencies import VlmSpeed
from services.vlm.presets import LLAMA, PRESETS, USUAL_CONTEXT, Preset
from tests.unit.capacity.node_files import DROP, SHIPPED, changed

FP8 = "llama-3.2-11b-vision-fp8"


def proposal(folder: Path, changes: dict[str, Any] | None = None, voice: bool = False) -> Proposal:
    file = read(changed(folder, changes or {}), voice=voice)
    return propose(file, file.node.cards, 10_000)


def test_llama_is_as_fast_as_in_the_published_budget() -> None:
    node = read(SHIPPED).node
    assert vlm_speed(node, LLAMA) == VlmSpeed(130, 96, 27.8)
    assert vlm_speed(node, PRESETS[FP8]) == VlmSpeed(130, 48, 14.7)


def test_a_card_without_fp8_computes_in_bf16(tmp_path: Path) -> None:
    a100 = {"node.memory_gb": 80, "node.bandwidth_gb_s": 2039, "node.bf16_tflops": 312}
    node = proposal(tmp_path, {**a100, "node.fp8_tflops": DROP}).file.node
    assert vlm_speed(node, PRESETS[FP8]).prefill_ms_per_1k == vlm_speed(node, LLAMA).prefill_ms_per_1k == 112
    assert vlm_speed(node, PRESETS[FP8]).decode_ms_per_token == 6.2


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_preset_fits_on_one_card_beside_the_small_models(tmp_path: Path, preset: Preset) -> None:
    found = proposal(tmp_path, {"vlm.preset": preset.name})
    memory_gb, vlm = found.file.node.memory_gb, found.vlm
    assert sum(found.parts(0).values()) == pytest.approx(memory_gb)
    assert 1 <= vlm.sequences <= preset.most_sequences
    assert least_context(preset) <= vlm.context <= preset.context
    half_full = vlm.sequences * preset.sequence_gb(min(vlm.context, USUAL_CONTEXT) / 2)
    held = vlm.share * memory_gb - preset.resident_gb
    assert held >= max(half_full - 0.048, preset.sequence_gb(vlm.context))  # shares are in thousandths


def test_ten_sequences_fit_with_and_without_voice(tmp_path: Path) -> None:
    without, found = proposal(tmp_path), proposal(tmp_path, voice=True)
    assert {found.layout.services[role] for role in ("stt", "tts")} == {0}
    assert without.vlm == VlmSizes(0.6, 16_384, 10)
    assert found.vlm == VlmSizes(0.493, 16_384, 10)
    assert set(without.layout.services).isdisjoint({"stt", "tts"})


def test_voice_on_the_cpu_takes_no_memory_of_a_card(tmp_path: Path) -> None:
    on_cpu = {
        "voice.stt": {"preset": "whisper.cpp", "gpu": "cpu"},
        "voice.tts": {"preset": "kokoro", "gpu": "cpu"},
    }
    found = proposal(tmp_path, on_cpu, voice=True)
    assert found.layout.services["stt"] is found.layout.services["tts"] is None
    assert found.vlm == proposal(tmp_path).vlm


def test_sequences_are_those_of_the_file_where_they_fit_and_else_the_preset_s(tmp_path: Path) -> None:
    assert proposal(tmp_path, {"vlm.sequences": 3}).vlm.sequences == 3
    assert proposal(tmp_path, {"vlm.sequences": DROP}).vlm.sequences == PRESETS[FP8].sequences
    most = proposal(tmp_path, {"vlm.sequences": 1000, "node.memory_gb": 80})
    assert most.vlm.sequences == most.vlm_sequences == PRESETS[FP8].most_sequences
    assert proposal(tmp_path, {"vlm.sequences": 1000}, voice=True).vlm.sequences == 10


def test_a_small_card_has_a_shorter_context(tmp_path: Path) -> None:
    tight = proposal(tmp_path, {"vlm.preset": "qwen3-vl-8b", "node.memory_gb": 40})
    assert tight.vlm.context < proposal(tmp_path, {"vlm.preset": "qwen3-vl-8b"}).vlm.context


def test_small_models_are_on_a_card_of_their_own_where_there_is_one(tmp_path: Path) -> None:
    found = proposal(tmp_path, {"node.cards": 2})
    assert found.layout.vlm == (0,)
    assert set(found.layout.services.values()) == {1, None}


def test_replicas_of_the_model_server_are_on_different_cards(tmp_path: Path) -> None:
    found = proposal(tmp_path, {"node.cards": 2, "vlm.replicas": 2})
    assert sorted(found.layout.vlm) == [0, 1]
    assert found.vlm_sequences == 2 * found.vlm.sequences


def test_pinned_processes_stay_on_their_cards(tmp_path: Path) -> None:
    found = proposal(tmp_path, {"node.cards": 2, "services.reranker.gpu": 0, "vlm.gpu": 1})
    assert found.layout.services["reranker"] == 0
    assert found.layout.vlm == (1,)
    with pytest.raises(WrongSettings, match=r"The gpu of reranker is 1; the last card is 0\."):
        proposal(tmp_path, {"services.reranker.gpu": 1})


def test_each_replica_of_a_small_model_takes_memory(tmp_path: Path) -> None:
    found, alone = proposal(tmp_path, {"services.cropper.replicas": 2}), proposal(tmp_path)
    assert service_gb(found.file, "cropper") == 2 * service_gb(alone.file, "cropper")
    assert found.memory_mib("cropper") == alone.memory_mib("cropper")  # each replica reports its own


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"node.memory_gb": 40, "vlm.preset": LLAMA.name},
            "llama-3.2-11b-vision and the services do not fit: GPU 0 has 38.5 GB without its headroom, 5.0 "
            "GB too little; llama-3.2-11b-vision-fp8 or qwen2.5-vl-7b or qwen2.5-vl-7b-fp8 or "
            "qwen2.5-vl-3b or qwen3-vl-8b or 2 cards would fit.",
        ),
        (
            {"node.memory_gb": 16},
            "llama-3.2-11b-vision-fp8 and the services do not fit: GPU 0 has 14.5 GB without its headroom, "
            "20.2 GB too little.",
        ),
        (
            {"vlm.replicas": 2},
            "llama-3.2-11b-vision-fp8 and the services do not fit: vlm.replicas is more than there are "
            "cards; 2 cards would fit.",
        ),
        ({"vlm.share": 0.3}, "vlm.share is 14.4 GB; llama-3.2-11b-vision-fp8 needs 17.1 GB to start."),
    ],
)
def test_a_refusal_says_how_much_is_missing_and_what_would_fit(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DoesNotFit) as caught:
        proposal(tmp_path, changes)
    assert str(caught.value) == sentence


@given(
    memory=st.floats(20, 96),
    cards=st.integers(1, 4),
    sizes=st.lists(st.floats(0.1, 12), min_size=6, max_size=6),
)
def test_no_card_is_overfilled_and_the_model_server_can_start(
    memory: float, cards: int, sizes: list[float]
) -> None:
    shipped = read(SHIPPED).model_dump()
    on_cards = [name for name, each in shipped["services"].items() if each["gpu"] != "cpu"]
    for name, size in zip(on_cards, sizes, strict=True):
        shipped["services"][name]["weights_gb"] = size
    shipped["node"] |= {"memory_gb": memory, "cards": cards}
    assume(all(size + 2.5 <= memory for size in sizes))
    file = PlacementFile.model_validate(shipped)
    try:
        layout = pack(file, cards)
    except DoesNotFit:
        return
    for card in range(cards):
        own = least_gb(file.vlm.chosen) + file.node.context_gb if card in layout.vlm else 0.0
        assert own + sum(service_gb(file, name) for name in layout.on(card)) <= file.node.usable_gb + 1e-6
    assert all((layout.services[name] is None) == (name not in on_cards) for name in file.services)
    vlm = propose(file, cards, 10_000).vlm
    assert vlm.share * memory >= least_gb(file.vlm.chosen) - 1e-6
