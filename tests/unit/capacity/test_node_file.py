"""Faults of the node file are refused in one sentence."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.node_file import ENGINES, SERVICES, read
from chassis.startup import WrongSettings
from gateway.clients.services import Services
from tests.unit.capacity.node_files import DROP, SHIPPED, changed


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
        ({"node.memory_gb": "48"}, "node.memory_gb: Input should be a valid number"),
        ({"node.memory_gb": float("nan")}, "node.memory_gb: Input should be a finite number"),
        ({"node.cards": 0}, "node.cards: Input should be greater than or equal to 1"),
        ({"node.headroom_gb": 48}, "node: headroom_gb 48 is all of memory_gb 48"),
        ({"node.memroy": 1}, "node.memroy: there is no such field"),
        ({"latencies": "h100"}, "latencies: Input should be 'l40s' or 'pocket'"),
        ({"vlm.preset": "gpt-5"}, "vlm: unknown preset 'gpt-5'; use one of llama-3.2-11b-vision,"),
        ({"vlm.gpu": "cpu"}, "vlm: the model server needs a card"),
        ({"vlm.gpu": 0, "vlm.replicas": 2}, "vlm: each replica needs a card of its own"),
        ({"services": []}, "services: Input should be a valid dictionary"),
        ({"services.search": {"engine": "x", "gpu": "cpu"}}, "services: search is missing or unknown"),
        ({"services.ocr": DROP}, "services: ocr is missing or unknown"),
        ({"services.ocr.weights_gb": 1}, "services.ocr: a service on the CPU cannot have weights_gb"),
        ({"services.ocr.gpu": 0, "services.ocr.weights_gb": 1}, "services.ocr.gpu must be cpu"),
        ({"services.verifier.batch": 4}, "services.verifier.batch must be left out"),
        ({"services.reranker.gpu": "tpu"}, "services.reranker.gpu: 'tpu' is neither the index of a card nor"),
        ({"services.reranker.gpu": -1}, "services.reranker.gpu: -1 is neither"),
        ({"services.reranker.gpu": True}, "services.reranker.gpu: True is neither"),
        ({"services.reranker.weights_gb": 0}, "services.reranker: a service on a card needs weights_gb"),
        ({"services.reranker.share": 1.5}, "services.reranker.share: Input should be less than or equal"),
        ({"services.reranker.share": 0.05}, "services.reranker.share is 2.4 GB of a card; it needs 5.1 GB"),
        ({"services.reranker.engine": "casacde"}, "services.reranker.engine is 'casacde'; use builtin or"),
        ({"services.reranker.engine": "pocket"}, "services.reranker.gpu must be cpu"),
        ({"services.domain_router.engine": "builtin"}, "services.domain_router.gpu must be cpu"),
        ({"services.domain_router.engine": "pocket"}, "services.domain_router.gpu must be cpu"),
        ({"voice.stt.preset": "parakeet"}, "voice.stt: unknown preset 'parakeet'"),
        ({"voice.stt.gpu": "cpu"}, "voice.stt: whisper.cpp-cuda needs a card"),
        ({"voice.tts.preset": "kokoro"}, "voice.tts: kokoro needs gpu: cpu"),
        ({"voice.ear": {"preset": "kokoro-cuda"}}, "voice: kokoro-cuda cannot be ear"),
        ({"voice.stt.preset": "kokoro-cuda"}, "voice: kokoro-cuda cannot be stt"),
    ],
)
def test_a_fault_names_the_entry(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    assert f" cannot be used: {sentence}" in refused(changed(tmp_path, changes))


def test_a_file_of_an_older_version_is_read(tmp_path: Path) -> None:
    older = {"traffic": {"direct": 0.3, "verify": 0.2, "rag": 0.5}}
    assert read(changed(tmp_path, older)) == read(SHIPPED)


def test_options_replace_values_and_are_checked_alike() -> None:
    file = read(SHIPPED, cards=3, preset="qwen3-vl-8b", sequences=4)
    assert (file.node.cards, file.vlm.preset, file.vlm.sequences) == (3, "qwen3-vl-8b", 4)
    assert "unknown preset 'x'" in refused(SHIPPED, preset="x")


@pytest.mark.parametrize("name", SERVICES)
def test_engines_are_those_of_the_service(name: str) -> None:
    settings = import_module(f"services.{name}.settings")
    known = [each.value for each in settings.Engine] if hasattr(settings, "Engine") else ["pocket"]
    assert list(ENGINES[name]) == known


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.yaml").endswith(" cannot be read: No such file or directory.")


@pytest.mark.parametrize(
    "text", ["", "- node\n", "node: [1, 2\n", "\tnode: 1\n", "[" * 20_000, "a: 2026-99-99"]
)
def test_a_file_without_entries_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(text, "utf-8")
    refused(path)


@given(junk=st.binary(max_size=200))
def test_any_bytes_are_refused_in_one_sentence(junk: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("junk") / "node.yaml"
    path.write_bytes(junk)
    refused(path)
