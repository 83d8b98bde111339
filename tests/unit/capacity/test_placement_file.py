"""The placement file: what is wrong with it is said in one sentence."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.placement.node_file import ENGINES, MAX_BYTES, SERVICES, read
from chassis.startup import WrongSettings
from gateway.clients.services import Services
from tests.unit.capacity.placement_files import DROP, SHIPPED, changed


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(WrongSettings) as caught:
        read(path, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert str(path) in sentence
    return sentence.removeprefix(str(path))


def test_the_shipped_file_has_every_service() -> None:
    assert list(read(SHIPPED).services) == list(SERVICES)
    assert set(SERVICES) == set(Services.names())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"services.reranker.share": -0.2}, "services.reranker.share is -0.2; it must be greater than 0"),
        (
            {"services.reranker.share": 1.5},
            "services.reranker.share is 1.5; it must be less than or equal to 1",
        ),
        ({"services.reranker.share": 0.05}, "services.reranker.share is 0.05, 2.4 GB of a card; its weights"),
        ({"vlm.preset": "gpt-5"}, "vlm.preset: 'gpt-5' is not a preset; there are llama-3.2-11b-vision,"),
        (
            {"services.search": {"engine": "x", "gpu": "cpu"}},
            "services has search, which is no service; there are",
        ),
        ({"services.ocr": DROP}, "services lacks ocr"),
        (
            {"voice.stt.preset": "parakeet"},
            "voice.stt.preset: 'parakeet' is not a preset; there are whisper.cpp,",
        ),
        ({"voice.stt.gpu": "cpu"}, "voice.stt cannot be there: whisper.cpp-cuda needs a card"),
        (
            {"voice.tts.preset": "kokoro"},
            "voice.tts cannot be there: kokoro runs on the CPU, set its gpu to cpu",
        ),
        ({"voice.ear": {"preset": "kokoro-cuda"}}, "voice has ear; there are stt and tts"),
        ({"voice.stt.preset": "kokoro-cuda"}, "voice has kokoro-cuda as stt, which it cannot be"),
        ({"voice.stt.gpu": 3}, "voice.stt.gpu is 3; the node's cards are 0 to 0"),
        ({"services.reranker.gpu": 1}, "services.reranker.gpu is 1; the node's cards are 0 to 0"),
        ({"services.reranker.gpu": "tpu"}, "services.reranker.gpu is 'tpu'; it must be the index of a card"),
        (
            {"services.reranker.gpu": -1},
            "services.reranker.gpu is -1; it must be the index of a card, auto or",
        ),
        ({"services.reranker.gpu": True}, "services.reranker.gpu is True; it must be the index of a card"),
        ({"vlm.gpu": "cpu"}, "must be on a card"),
        ({"vlm.gpu": 0, "vlm.replicas": 2}, "has several replicas, each on a card of its own"),
        ({"node": DROP}, "node is missing"),
        ({"node.memory_gb": DROP}, "node.memory_gb is missing"),
        ({"node.memory_gb": "48"}, "node.memory_gb is '48'; it must be a valid number"),
        ({"node.memory_gb": float("nan")}, "node.memory_gb is nan; it must be a finite number"),
        ({"node.memory_gb": 0}, "node.memory_gb is 0; it must be greater than 0"),
        ({"node.cards": 0}, "node.cards is 0; it must be greater than or equal to 1"),
        ({"node.cards": True}, "node.cards is True; it must be a valid integer"),
        ({"node.headroom_gb": -1}, "node.headroom_gb is -1; it must be greater than or equal to 0"),
        ({"node.headroom_gb": 48}, "node has no room: headroom_gb is 48 of memory_gb 48"),
        ({"node.memroy": 1}, "node.memroy is not known"),
        ({"services.reranker.weights_gb": 0}, "services.reranker needs weights_gb: it is on a card"),
        ({"services.ocr.weights_gb": 1}, "services.ocr is on the CPU and cannot have weights_gb"),
        ({"services.ocr": None}, "services.ocr is None; it must hold entries"),
        ({"services.ocr.engine": "a=b\nX"}, "services.ocr.engine is 'a=b\\nX'; it must match"),
        ({"services": []}, "services is []; it must hold entries"),
        ({"traffic.rag": 0.6}, "traffic must add up to 1"),
        ({"node.bandwidth_gb_s": 1e-310}, "node.bandwidth_gb_s is 1e-310; it must be greater than or equal"),
        ({"node.memory_gb": 48_000}, "node.memory_gb is 48000; it must be less than or equal to 10000"),
        ({"services.reranker.weights_gb": 1e308}, "services.reranker.weights_gb is 1e+308; it must be less"),
        (
            {"services.reranker.engine": "casacde"},
            "services.reranker.engine is 'casacde'; it must be pocket or cascade or remote",
        ),
        (
            {"services.reranker.engine": "pocket"},
            "services.reranker.gpu is 'auto'; the engine pocket runs on the CPU, set it to cpu",
        ),
        (
            {"services.ocr.gpu": "auto", "services.ocr.weights_gb": 1},
            "services.ocr.gpu is 'auto'; ocr runs on the CPU, set it to cpu",
        ),
        (
            {"services.verifier.batch": 4},
            "services.verifier works on one item at a time and cannot have batch",
        ),
        ({"latencies": "h100"}, "latencies is 'h100'; it must be 'l40s' or 'pocket'"),
    ],
)
def test_a_fault_names_the_entry_and_its_value(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    assert sentence in refused(changed(tmp_path, changes))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("node: {cards: 1}\nvlm: {}\nnode: {cards: 2}\n", ", line 3: node stands here twice."),
        ("node: &a {cards: 1}\nvlm: *a\n", ", line 2: aliases are not read here."),
        ("node: {<<: {cards: 1}}\n", ", line 1: a key must be a word."),
        ("? [a]\n: 1\n", ", line 1: a key must be a word."),
        ("node: [1, 2\n", ", line 2: "),
        ("node: !!python/object/apply:os.system [ls]\n", ", line 1: "),
        ("\tnode: 1\n", ", line 1: "),
        ("[" * 20_000, " is not YAML."),
        ("node: \x07", " is not YAML."),
        ("day: 2026-99-99", " is not YAML."),
        ("- node\n", " must hold entries (node, traffic, vlm, services), not ['node']."),
        ("", " must hold entries (node, traffic, vlm, services), not None."),
        ("#" * (MAX_BYTES + 1), " is larger than 64 KiB; a placement file never is."),
    ],
)
def test_what_is_not_a_plain_file_of_entries_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(text, "utf-8")
    assert refused(path).startswith(sentence)


@pytest.mark.parametrize("name", SERVICES)
def test_the_engines_are_those_that_the_service_knows(name: str) -> None:
    settings = import_module(f"services.{name}.settings")
    known = [each.value for each in settings.Engine] if hasattr(settings, "Engine") else ["pocket"]
    assert list(ENGINES[name]) == known


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.yaml") == " cannot be read: No such file or directory."


def test_what_the_command_line_says_is_checked_like_the_file() -> None:
    assert "vlm.preset: 'x' is not a preset" in refused(SHIPPED, preset="x")
    assert read(SHIPPED, cards=3, preset="qwen3-vl-8b").node.cards == 3


@given(junk=st.binary(max_size=200))
def test_no_bytes_end_in_anything_but_a_sentence(
    junk: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("junk") / "node.yaml"
    path.write_bytes(junk)
    refused(path)
