"""The platform with a real small model: ten questions, where llama.cpp's server is built already."""

from pathlib import Path

import pytest

from tests.real_models.__main__ import QUESTIONS, chosen_questions
from tests.real_models.comparison import ALONE, System, compare
from tests.real_models.llama import CACHE, server_binary, serving

pytestmark = pytest.mark.slow
MODEL = CACHE / "SmolLM2-135M-Instruct.Q4_1.gguf"
COUNT, UNANSWERABLE = 10, 3


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, System]:
    """What the model alone and the default pipeline with it said to the same questions."""
    if not (server_binary().exists() and MODEL.exists()):
        pytest.skip("llama.cpp is not built: run `make test-real-models` once")
    import anyio

    folder: Path = tmp_path_factory.mktemp("real_model")
    dataset = chosen_questions(QUESTIONS, COUNT, UNANSWERABLE, seed=1)
    with serving(MODEL, "--ctx-size", "4096") as url:
        compared = anyio.run(compare, url, dataset, [ALONE, "loreglass"], folder, 60_000)
    return {each.name: each for each in compared}


async def test_each_system_is_asked_every_question(systems: dict[str, System]) -> None:
    for each in systems.values():
        assert (len(each.run.records), each.run.failures) == (COUNT, {})


async def test_a_question_without_a_photo_takes_one_call_at_most(systems: dict[str, System]) -> None:
    answers = [record.answer for record in systems["loreglass"].run.records]
    assert max(answer.model_usage.calls for answer in answers if answer) == 1  # none on a busy machine


async def test_the_model_reads_the_question_last_and_no_example(systems: dict[str, System]) -> None:
    questions = tuple(f"Question: {record.question}" for record in systems["loreglass"].run.records)
    for call in systems["loreglass"].calls:
        assert "Examples" not in str(call.messages)
        first = next(each for each in call.messages if each["role"] == "user")
        assert str(first["content"]).rstrip().endswith(questions)


async def test_a_prompt_finds_our_words_in_the_cache_of_the_one_before(systems: dict[str, System]) -> None:
    """The system text, the task and the marks of the template: 74 tokens.

    Not always: a call that a busy machine cut short, or a probe of the server, may lie between two.
    """
    later = [call for call in systems["loreglass"].calls if call.prompt_tokens][1:]
    cached = [call for call in later if call.cached_tokens >= 70]
    assert len(cached) >= len(later) / 2


async def test_the_platform_answers_no_more_unanswerable_questions_than_the_model_alone(
    systems: dict[str, System],
) -> None:
    assert systems["loreglass"].outcomes.answered <= systems[ALONE].outcomes.answered
