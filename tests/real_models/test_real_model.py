"""The platform with a real small model: ten questions, where llama.cpp's server is built already."""

from pathlib import Path

import pytest

from tests.real_models.__main__ import QUESTIONS, chosen_questions
from tests.real_models.comparison import ALONE, compare
from tests.real_models.llama import CACHE, server_binary, serving

pytestmark = pytest.mark.slow
MODEL = CACHE / "SmolLM2-135M-Instruct.Q4_1.gguf"
COUNT, UNANSWERABLE = 10, 3


async def test_small_model_reads_each_question_once_and_hallucinates_no_more(
    tmp_path: Path,
) -> None:
    """The server caches what two prompts share, 74 tokens: system text, task and template marks.

    A cancelled call or a probe between two prompts can replace the cache entry, so exceptions are allowed.
    """
    if not (server_binary().exists() and MODEL.exists()):
        pytest.skip("llama.cpp is not built: run `make test-real-models` once")
    dataset = chosen_questions(QUESTIONS, COUNT, UNANSWERABLE, seed=1)
    with serving(MODEL, "--ctx-size", "4096") as url:
        alone, platform = await compare(url, dataset, [ALONE, "loreglass"], tmp_path, 60_000)
    for each in (alone, platform):
        assert (len(each.run.records), each.run.failures) == (COUNT, {})
    answers = [record.answer for record in platform.run.records]
    assert max(answer.model_usage.calls for answer in answers if answer) == 1  # none on a busy machine
    questions = tuple(f"Question: {record.question}" for record in platform.run.records)
    for call in platform.calls:
        assert "Examples" not in str(call.messages)
        first = next(each for each in call.messages if each["role"] == "user")
        assert str(first["content"]).rstrip().endswith(questions)
    later = [call for call in platform.calls if call.prompt_tokens][1:]
    assert len([call for call in later if call.cached_tokens >= 70]) >= len(later) / 2
    assert platform.outcomes.answered <= alone.outcomes.answered
