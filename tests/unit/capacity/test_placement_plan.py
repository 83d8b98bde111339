"""What is chosen for a node: packing, sizes, limits, expectations."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from capacity.placement.demand import WAYS, demands, mixed, per_second
from capacity.placement.memory import least_context, least_gb, share_of, small_gb
from capacity.placement.node_file import PlacementFile, read
from capacity.placement.packing import DoesNotFit, Manner, pack
from capacity.placement.proposal import DEADLINE_SHARE, Proposal, propose
from capacity.placement.speed import vlm_speed
from gateway.planning.latencies import VlmSpeed
from services.vlm.presets import LLAMA, PRESETS, USUAL_CONTEXT, Preset
from tests.unit.capacity.placement_files import DROP, SHIPPED, changed

DEADLINE_MS = 10_000
FP8 = "llama-3.2-11b-vision-fp8"
EVERY = pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)


def proposal(
    folder: Path, changes: dict[str, Any] | None = None, deadline_ms: int = DEADLINE_MS, voice: bool = False
) -> Proposal:
    file = read(changed(folder, changes or {}), voice=voice)
    return propose(file, file.node.cards, deadline_ms)


def taken_gb(found: Proposal, card: int) -> float:
    return sum(each.gb for each in found.slices(card))


def test_the_speed_of_the_llama_is_that_of_the_published_budget() -> None:
    node = read(SHIPPED).node
    assert vlm_speed(node, PRESETS["llama-3.2-11b-vision"]) == VlmSpeed(130, 96, 27.8)
    assert vlm_speed(node, PRESETS["llama-3.2-11b-vision-fp8"]) == VlmSpeed(130, 48, 14.7)


@EVERY
def test_every_preset_fits_on_one_card_beside_the_small_models(tmp_path: Path, preset: Preset) -> None:
    found = proposal(tmp_path, {"vlm.preset": preset.name})
    assert taken_gb(found, 0) <= found.file.node.memory_gb + 1e-6
    assert 1 <= found.vlm.sequences <= preset.most_sequences
    assert least_context(preset) <= found.vlm.context <= preset.context
    held = share_of(found.vlm.share, found.file.node)
    usual = min(found.vlm.context, USUAL_CONTEXT)
    half_full = preset.resident_gb + found.vlm.sequences * preset.sequence_gb(usual / 2)
    assert held >= preset.resident_gb + preset.sequence_gb(found.vlm.context)
    assert held >= half_full - 0.048  # shares are in thousandths


def test_capacity_of_a_node_is_near_the_published_one(tmp_path: Path) -> None:
    """1.1 and 1.5 questions of one call a second in bf16 and fp8: a photo, 2,500 tokens read, 100 written."""
    bf16 = proposal(tmp_path, {"vlm.preset": "llama-3.2-11b-vision"})
    fp8 = proposal(tmp_path)
    for found, published in ((bf16, 1.1), (fp8, 1.5)):
        speed = vlm_speed(found.file.node, found.file.vlm.chosen)
        one_call = replace(
            mixed(found.file, demands(found.file)),
            reading_ms=speed.median_ms(2_500, 0, photo_is_cached=False),
            tokens=100.0,
        )
        assert per_second(found.file, found.layout, one_call, 8) == pytest.approx(published, rel=0.2)
    assert 5 <= bf16.in_flight < fp8.in_flight <= 10


def test_small_models_get_a_card_of_their_own_where_that_is_faster(tmp_path: Path) -> None:
    one, two = proposal(tmp_path), proposal(tmp_path, {"node.cards": 2})
    assert set(two.layout.services.values()) == {1, None}
    assert two.layout.vlm == (0,)
    assert two.mix.per_s > one.mix.per_s
    assert two.vlm.sequences > one.vlm.sequences


def test_whisper_and_a_voice_fit_beside_the_rest_and_nobody_is_turned_away_for_it(tmp_path: Path) -> None:
    without, found = proposal(tmp_path), proposal(tmp_path, voice=True)
    assert {found.layout.services[role] for role in ("stt", "tts")} == {0}
    assert taken_gb(found, 0) <= found.file.node.memory_gb + 1e-6
    assert found.in_flight == without.in_flight
    assert found.vlm.sequences == without.vlm.sequences
    assert found.vlm.share < without.vlm.share
    assert set(without.layout.services).isdisjoint({"stt", "tts"})


def test_a_voice_on_processors_takes_nothing_of_a_card(tmp_path: Path) -> None:
    on_cpu = {
        "voice.stt": {"preset": "whisper.cpp", "gpu": "cpu"},
        "voice.tts": {"preset": "kokoro", "gpu": "cpu"},
    }
    found = proposal(tmp_path, on_cpu, voice=True)
    assert found.layout.services["stt"] is found.layout.services["tts"] is None
    assert found.vlm == proposal(tmp_path).vlm


def test_what_does_not_fit_with_a_voice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DoesNotFit, match=r"2\.2 GB too little; preset llama-3\.2-11b-vision-fp8 or"):
        proposal(tmp_path, {"vlm.preset": "llama-3.2-11b-vision"}, voice=True)


def test_replicas_of_the_model_are_on_different_cards(tmp_path: Path) -> None:
    found = proposal(tmp_path, {"node.cards": 2, "vlm.replicas": 2})
    assert sorted(found.layout.vlm) == [0, 1]
    assert found.vlm_sequences == 2 * found.vlm.sequences
    assert found.mix.per_s > proposal(tmp_path, {"node.cards": 2}).mix.per_s


def test_more_replicas_than_cards_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DoesNotFit, match=r"vlm has more replicas than there are cards; 2 cards would do\."):
        proposal(tmp_path, {"vlm.replicas": 2})


def test_a_pinned_service_is_where_it_was_pinned(tmp_path: Path) -> None:
    found = proposal(tmp_path, {"node.cards": 2, "services.reranker.gpu": 0, "vlm.gpu": 1})
    assert found.layout.services["reranker"] == 0
    assert found.layout.vlm == (1,)


def test_replicas_of_a_small_model_stay_together_and_take_memory_each(tmp_path: Path) -> None:
    found = proposal(tmp_path, {"services.cropper.replicas": 2})
    alone = proposal(tmp_path)
    assert found.memory_mib("cropper") == alone.memory_mib("cropper")  # of which each tells its own
    assert small_gb(found.file, "cropper") == 2 * small_gb(alone.file, "cropper")


def test_a_shorter_deadline_lets_fewer_in(tmp_path: Path) -> None:
    limits = [proposal(tmp_path, deadline_ms=deadline).in_flight for deadline in (1, 5_000, 10_000, 20_000)]
    assert limits == sorted(limits)
    assert limits[0] == 1
    assert limits[1] < limits[3]


def test_no_more_sequences_than_questions_and_no_more_than_asked_for(tmp_path: Path) -> None:
    assert proposal(tmp_path, {"vlm.sequences": 3}).vlm.sequences == 3
    found = proposal(tmp_path)
    assert found.vlm.sequences <= found.in_flight
    assert found.mix.busy_ms <= DEADLINE_MS * DEADLINE_SHARE


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"node.memory_gb": 40, "vlm.preset": "llama-3.2-11b-vision"},
            "llama-3.2-11b-vision and the services do not fit on 1 card: GPU 0 would hold 43.5 GB and has "
            "38.5 GB beside its headroom: 5.0 GB too little; preset llama-3.2-11b-vision-fp8 or "
            "preset qwen2.5-vl-7b or preset qwen2.5-vl-7b-fp8 or preset qwen2.5-vl-3b or "
            "preset qwen3-vl-8b or 2 cards would do.",
        ),
        (
            {"node.memory_gb": 16},
            "llama-3.2-11b-vision-fp8 and the services do not fit on 1 card: GPU 0 would hold "
            "34.7 GB and has 14.5 GB beside its headroom: 20.2 GB too little.",
        ),
        (
            {"services.reranker.share": 0.9},
            "llama-3.2-11b-vision-fp8 and the services do not fit on 1 card: GPU 0 would hold "
            "72.9 GB and has 46.5 GB beside its headroom: 26.4 GB too little; 2 cards would do.",
        ),
        (
            {"vlm.share": 0.3},
            "vlm.share is 0.3, 14.4 GB of a card, and llama-3.2-11b-vision-fp8 needs 17.1 GB to start.",
        ),
    ],
)
def test_a_refusal_says_what_is_missing_where_and_what_would_help(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DoesNotFit) as caught:
        proposal(tmp_path, changes)
    assert str(caught.value) == sentence


def test_fewer_cards_than_a_pin_needs_are_refused(tmp_path: Path) -> None:
    file = read(changed(tmp_path, {"node.cards": 2, "services.reranker.gpu": 1}))
    with pytest.raises(DoesNotFit, match=r"services.reranker.gpu is 1; with 1 card the last is GPU 0\."):
        propose(file, 1, DEADLINE_MS)


def test_a_card_with_just_enough_room_is_told_so_much_that_the_model_server_starts(tmp_path: Path) -> None:
    """Shares are in thousandths, and vLLM refuses a context that not even one sequence has room for."""
    least, others = least_gb(PRESETS[FP8]), 18.0  # contexts, headroom and small models
    one_at_a_time = proposal(tmp_path, deadline_ms=1_000)
    assert one_at_a_time.vlm.sequences == 1
    whole = PRESETS[FP8].sequence_gb(one_at_a_time.vlm.context) + PRESETS[FP8].resident_gb
    assert share_of(one_at_a_time.vlm.share, one_at_a_time.file.node) >= whole
    for spare in range(12):
        try:
            found = proposal(tmp_path, {"node.memory_gb": least + others + spare / 100})
        except DoesNotFit:
            continue
        assert share_of(found.vlm.share, found.file.node) >= least


def test_a_card_without_fp8_computes_in_bf16(tmp_path: Path) -> None:
    a100 = {"node.memory_gb": 80, "node.bandwidth_gb_s": 2039, "node.bf16_tflops": 312}
    node = proposal(tmp_path, {**a100, "node.fp8_tflops": DROP}).file.node
    assert vlm_speed(node, PRESETS[FP8]).prefill_ms_per_1k == vlm_speed(node, LLAMA).prefill_ms_per_1k == 112
    assert vlm_speed(node, PRESETS[FP8]).decode_ms_per_token == 6.2


def test_a_full_card_gives_a_shorter_context_before_it_gives_few_sequences(tmp_path: Path) -> None:
    roomy = proposal(tmp_path, {"vlm.preset": "qwen3-vl-8b"})
    tight = proposal(tmp_path, {"vlm.preset": "qwen3-vl-8b", "node.memory_gb": 41})
    assert tight.vlm.context < roomy.vlm.context
    assert tight.vlm.sequences >= 3


@given(
    memory=st.floats(20, 96),
    cards=st.integers(1, 4),
    sizes=st.lists(st.floats(0.1, 12), min_size=6, max_size=6),
    manner=st.sampled_from(Manner),
)
def test_a_packing_never_overfills_a_card(
    memory: float, cards: int, sizes: list[float], manner: Manner
) -> None:
    shipped = read(SHIPPED).model_dump()
    on_cards = [name for name, each in shipped["services"].items() if each["gpu"] != "cpu"]
    for name, size in zip(on_cards, sizes, strict=True):
        shipped["services"][name]["weights_gb"] = size
    shipped["node"] |= {"memory_gb": memory, "cards": cards}
    assume(all(size + 2.5 <= memory for size in sizes))
    file = PlacementFile.model_validate(shipped)
    try:
        layout = pack(file, cards, manner)
    except DoesNotFit:
        return
    for card in range(cards):
        own = least_gb(file.vlm.chosen) + file.node.context_gb if card in layout.vlm else 0.0
        assert own + sum(small_gb(file, name) for name in layout.on(card)) <= file.node.usable_gb + 1e-6
    assert all((layout.services[name] is None) == (name not in on_cards) for name in file.services)


def test_routes_cost_more_the_more_they_do() -> None:
    file = read(SHIPPED)
    found = demands(file)
    idle = [found[name].idle_ms for name in ("direct", "verify", "rag", "qa-dragon")]
    assert idle == sorted(idle)
    assert [found[way.name].calls for way in WAYS] == [1, 3, 3, 9]
    assert found["direct"].idle_ms < mixed(file, found).idle_ms < found["rag"].idle_ms
