"""The node's file, and the plan that is proposed for it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from capacity.environment import vlm_speed
from capacity.node_file import SERVICES, PlacementFile, read
from capacity.proposal import DoesNotFit, Proposal, least_context, least_gb, pack, propose, service_gb
from chassis.startup import WrongSettings
from gateway.clients.services import Services
from gateway.planning.latencies import VlmSpeed
from services.vlm.presets import LLAMA, PRESETS, USUAL_CONTEXT, Preset
from tests.unit.capacity.node_files import DROP, SEEING_SEARCH, SHIPPED, changed

FP8 = "llama-3.2-11b-vision-fp8"


def proposal(folder: Path, changes: dict[str, Any] | None = None, voice: bool = False) -> Proposal:
    file = read(changed(folder, changes or {}), voice=voice)
    return propose(file, 10_000)


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
    result = proposal(tmp_path, {"vlm.preset": preset.name})
    memory_gb, vlm = result.file.node.memory_gb, result.vlm
    assert sum(result.parts(0).values()) == pytest.approx(memory_gb)
    assert 1 <= vlm.sequences <= preset.most_sequences
    assert least_context(preset) <= vlm.context <= preset.context
    half_full = vlm.sequences * preset.sequence_gb(min(vlm.context, USUAL_CONTEXT) / 2)
    held = vlm.share * memory_gb - preset.resident_gb
    assert held >= max(half_full - 0.048, preset.sequence_gb(vlm.context))  # shares are in thousandths


def test_voice_on_the_cpu_takes_no_memory_of_a_card(tmp_path: Path) -> None:
    on_cpu = {"stt": "whisper.cpp", "tts": "kokoro"}
    changes = {f"voice.{role}": {"preset": name, "gpu": "cpu"} for role, name in on_cpu.items()}
    result = proposal(tmp_path, changes, voice=True)
    assert result.layout.services["stt"] is result.layout.services["tts"] is None
    assert result.vlm == proposal(tmp_path).vlm


def test_sequences_follow_the_file_or_the_preset(tmp_path: Path) -> None:
    assert proposal(tmp_path, {"vlm.sequences": 3}).vlm.sequences == 3
    assert proposal(tmp_path, {"vlm.sequences": DROP}).vlm.sequences == PRESETS[FP8].sequences
    most = proposal(tmp_path, {"vlm.sequences": 1000, "node.memory_gb": 80})
    assert most.vlm.sequences == PRESETS[FP8].most_sequences
    assert proposal(tmp_path, {"vlm.sequences": 1000}, voice=True).vlm.sequences == 10


def test_a_small_card_has_a_shorter_context(tmp_path: Path) -> None:
    tight = proposal(tmp_path, {"vlm.preset": "qwen3-vl-8b", "node.memory_gb": 40})
    assert tight.vlm.context < proposal(tmp_path, {"vlm.preset": "qwen3-vl-8b"}).vlm.context


def test_small_models_use_a_second_card_if_present(tmp_path: Path) -> None:
    result = proposal(tmp_path, {"node.cards": 2})
    assert result.layout.vlm == 0
    assert set(result.layout.services.values()) == {1, None}


def test_pinned_processes_stay_on_their_cards(tmp_path: Path) -> None:
    result = proposal(tmp_path, {"node.cards": 2, "services.reranker.gpu": 0, "vlm.gpu": 1})
    assert result.layout.services["reranker"] == 0
    assert result.layout.vlm == 1
    with pytest.raises(WrongSettings, match=r"the gpu of reranker is 1; the last card is 0\."):
        proposal(tmp_path, {"services.reranker.gpu": 1})


def test_refusal_names_the_missing_memory_and_options(tmp_path: Path) -> None:
    with pytest.raises(DoesNotFit) as caught:
        proposal(tmp_path, {"node.memory_gb": 40, "vlm.preset": LLAMA.name})
    assert str(caught.value) == (
        "llama-3.2-11b-vision and the services do not fit: GPU 0 has 38.5 GB without its headroom, 5.0 "
        "GB too little. Try another --preset or more --cards."
    )


@given(
    memory=st.floats(20, 96),
    cards=st.integers(1, 4),
    sizes=st.lists(st.floats(0.1, 12), min_size=6, max_size=6),
)
def test_cards_are_not_overfilled_and_the_model_server_starts(
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
        layout = pack(file)
    except DoesNotFit:
        return
    for card in range(cards):
        own = least_gb(file.vlm.chosen) + file.node.context_gb if card == layout.vlm else 0.0
        assert own + sum(service_gb(file, name) for name in layout.on(card)) <= file.node.usable_gb + 1e-6
    assert all((layout.services[name] is None) == (name not in on_cards) for name in file.services)
    vlm = propose(file, 10_000).vlm
    assert vlm.share * memory >= least_gb(file.vlm.chosen) - 1e-6


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(WrongSettings) as caught:
        read(path, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(str(path))
    assert sentence.endswith(".")
    return sentence


def test_the_shipped_file_has_every_service() -> None:
    assert list(read(SHIPPED).services) == list(SERVICES)
    assert set(SERVICES) == set(Services.names())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"node": DROP}, "node: must be given"),
        ({"node.memory_gb": float("nan")}, "node.memory_gb: Input should be a finite number"),
        ({"node.headroom_gb": 48}, "node: headroom_gb 48 is all of memory_gb 48"),
        ({"node.memroy": 1}, "node.memroy: unknown field"),
        ({"vlm.preset": "gpt-5"}, "vlm: unknown preset 'gpt-5'; use one of llama-3.2-11b-vision,"),
        ({"vlm.gpu": "cpu"}, "vlm: the model server needs a card"),
        ({"services.search": {"engine": "x", "gpu": "cpu"}}, "services: search is missing or unknown"),
        ({"services.ocr.weights_gb": 1}, "services.ocr: a service on the CPU cannot have weights_gb"),
        ({"services.ocr.gpu": 0, "services.ocr.weights_gb": 1}, "services.ocr.gpu must be cpu"),
        ({"services.verifier.batch": 4}, "services.verifier.batch must be left out"),
        ({"services.reranker.gpu": "tpu"}, "services.reranker.gpu: 'tpu' is neither the index of a card nor"),
        ({"services.reranker.gpu": True}, "services.reranker.gpu: True is neither"),
        ({"services.reranker.weights_gb": 0}, "services.reranker: a service on a card needs weights_gb"),
        ({"services.reader.preset": "whisper"}, "services.reader: unknown preset 'whisper'; use one"),
        (
            {"services.text_search": SEEING_SEARCH | {"preset": "qwen3-vl-reranker-2b"}},
            "services.text_search.preset is 'qwen3-vl-reranker-2b'; it is for another service or engine",
        ),
        ({"services.text_search": SEEING_SEARCH | {"engine": "bge"}}, "services.text_search.preset is"),
        ({"services.text_search": SEEING_SEARCH | {"gpu": "cpu"}}, "services.text_search: a service on"),
        ({"services.text_search": SEEING_SEARCH | {"weights_gb": 4}}, "services.text_search: a service on a"),
        ({"services.reranker.engine": "pocket"}, "services.reranker.gpu must be cpu"),
        ({"voice.stt.preset": "parakeet"}, "voice.stt: unknown preset 'parakeet'"),
        ({"voice.stt.gpu": "cpu"}, "voice.stt: whisper.cpp-cuda needs a card"),
        ({"voice.tts.preset": "kokoro"}, "voice.tts: kokoro needs gpu: cpu"),
        ({"voice.ear": {"preset": "kokoro-cuda"}}, "voice: kokoro-cuda cannot be ear"),
        ({"voice.stt.preset": "kokoro-cuda"}, "voice: kokoro-cuda cannot be stt"),
    ],
)
def test_invalid_entries_are_named(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    assert f" cannot be used: {sentence}" in refused(changed(tmp_path, changes))


def test_a_file_of_an_older_version_is_read(tmp_path: Path) -> None:
    older = {"traffic": {"direct": 0.3, "verify": 0.2, "rag": 0.5}}
    assert read(changed(tmp_path, older)) == read(SHIPPED)


def test_options_replace_values_and_are_checked_alike() -> None:
    file = read(SHIPPED, cards=3, preset="qwen3-vl-8b", sequences=4)
    assert (file.node.cards, file.vlm.preset, file.vlm.sequences) == (3, "qwen3-vl-8b", 4)
    assert "unknown preset 'x'" in refused(SHIPPED, preset="x")


@pytest.mark.parametrize("text", ["", "- node\n", "node: [1, 2\n", "[" * 20_000, "a: 2026-99-99"])
def test_a_file_that_is_missing_or_without_entries_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "node.yaml"
    assert refused(path).endswith(" cannot be read: No such file or directory.")
    path.write_text(text, "utf-8")
    refused(path)


@given(junk=st.binary(max_size=200))
def test_any_bytes_are_refused_in_one_sentence(junk: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("junk") / "node.yaml"
    path.write_bytes(junk)
    refused(path)
