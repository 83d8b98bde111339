"""Every prompt of every pipeline beside every preset's context, whatever people and pages put into it."""

from types import SimpleNamespace
from typing import Any

import pytest

from capacity.contexts import (
    CALLS,
    COSTLIEST,
    PLAIN,
    Material,
    evidence_shown,
    fullest,
    prompts,
    row,
    window_of,
)
from gateway.catalogue import every_pipeline
from gateway.llm.options import Window
from gateway.llm.prompt import TextPart
from gateway.steps.routing import SearchRouter
from gateway.thresholds import load_thresholds
from services.vlm.presets import PRESETS, Preset
from tests import bpe

EVERY_PIPELINE = pytest.mark.parametrize("pipeline", CALLS)
EVERY_PRESET = pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
LLAMA, QWEN = window_of(PRESETS["llama-3.2-11b-vision"]), window_of(PRESETS["qwen2.5-vl-7b"])
WEB_TASKS = ("crag-mm-task-2", "crag-mm-task-3")


def test_all_pipelines_of_the_gateway_are_measured() -> None:
    alone = SimpleNamespace(answer_alone=None, answer_in_steps=None)
    none = dict.fromkeys(("few_hops", "stepwise", "three_step", "wiki_prf", "fallback"))
    reasoners: Any = SimpleNamespace(baselines=alone, in_steps=alone, **none)
    services: Any = None
    assert set(CALLS) == set(every_pipeline(services, reasoners, load_thresholds(), SearchRouter()))


@EVERY_PIPELINE
@EVERY_PRESET
def test_the_fullest_prompt_fits_with_its_reply(pipeline: str, preset: Preset) -> None:
    found = row(pipeline, preset)
    assert found.reads > 0
    assert found.reads + found.reply <= preset.context


@EVERY_PIPELINE
def test_so_it_does_where_nobody_told_the_context(pipeline: str) -> None:
    assert Window().left(fullest(pipeline, Window())) >= 0


@pytest.mark.parametrize("unit", ["7", "ж", "字", "qj", "<|eot_id|>", "\u0958", PLAIN])
def test_whatever_script_it_is_in(unit: str) -> None:
    for pipeline in ("qa-dragon", *WEB_TASKS):
        assert all(LLAMA.left(prompt) >= 0 for prompt in prompts(pipeline, Material(unit), LLAMA))


@EVERY_PIPELINE
def test_evidence_in_english_is_read_whole(pipeline: str) -> None:
    given = evidence_shown(pipeline, Window(10**6))
    assert evidence_shown(pipeline, QWEN) == given
    if pipeline not in (*WEB_TASKS, "three-step"):
        assert evidence_shown(pipeline, LLAMA) == given


@pytest.mark.parametrize("pipeline", WEB_TASKS)
def test_web_tasks_read_half_of_it_with_the_model_whose_context_costs_memory(pipeline: str) -> None:
    given = evidence_shown(pipeline, Window(10**6))
    assert given / 2 < evidence_shown(pipeline, LLAMA) < given


@pytest.mark.skipif(not bpe.FOLDER, reason="LOREGLASS_TOKENIZERS names no folder with the vocabularies")
@pytest.mark.parametrize(("name", "window"), [("llama", LLAMA), ("qwen", QWEN)])
@pytest.mark.parametrize("unit", [f"{COSTLIEST} ", "7 ", "字的 ", "\u0958 ", PLAIN, " "])
def test_the_models_own_tokenizer_counts_no_more(name: str, window: Window, unit: str) -> None:
    """The last unit leaves our own words alone."""
    tokenizer = bpe.real(name)
    for pipeline in CALLS:
        for prompt in prompts(pipeline, Material(unit), window):
            texts = (prompt.system, *(part.text for part in prompt.user if isinstance(part, TextPart)))
            assert sum(map(tokenizer.count, texts)) <= prompt.text_tokens
