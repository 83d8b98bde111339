"""The platform with a real small model: ten questions, where llama.cpp's server is built already."""

from pathlib import Path

import pytest

from tests.real_models.__main__ import QUESTIONS, chosen_questions
from tests.real_models.comparison import ALONE, Row, compare
from tests.real_models.llama import CACHE, server_binary, serving

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
MODEL = CACHE / "SmolLM2-135M-Instruct.Q4_1.gguf"
COUNT, UNANSWERABLE = 10, 3


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """What the model alone and the default pipeline with it said to the same questions."""
    if not (server_binary().exists() and MODEL.exists()):
        pytest.skip("llama.cpp is not built: run `make test-real-models` once")
    import anyio

    folder: Path = tmp_path_factory.mktemp("real_model")
    dataset = chosen_questions(QUESTIONS, COUNT, UNANSWERABLE, seed=1)
    with serving(MODEL, "--ctx-size", "4096") as url:
        return anyio.run(compare, url, dataset, [ALONE, "loreglass"], folder, 60_000, lambda _: None)


def of(rows: list[Row], system: str) -> list[Row]:
    return [row for row in rows if row.system == system]


async def test_each_system_is_asked_every_question(rows: list[Row]) -> None:
    assert len(of(rows, ALONE)) == len(of(rows, "loreglass")) == COUNT
    assert not [row for row in rows if row.outcome == "failed"]


async def test_a_question_without_a_photo_takes_one_call_at_most(rows: list[Row]) -> None:
    calls = [len(row.calls) for row in of(rows, "loreglass")]  # none where a busy machine leaves no time
    assert max(calls) == 1


async def test_the_model_reads_the_question_last_and_no_example(rows: list[Row]) -> None:
    for row in of(rows, "loreglass"):
        for call in row.calls:
            text = str(call.messages)
            assert "Examples" not in text
            first = next(each for each in call.messages if each["role"] == "user")
            assert str(first["content"]).rstrip().endswith(f"Question: {row.question}")


async def test_a_prompt_finds_our_words_in_the_cache_of_the_one_before(rows: list[Row]) -> None:
    """The system text, the task and the marks of the template: 74 tokens.

    Not always: a call that a busy machine cut short, or a probe of the server, may lie between two.
    """
    calls = [call for row in of(rows, "loreglass") for call in row.calls]
    later = [call for call in calls if call.prompt_tokens][1:]
    found = [call for call in later if call.cached_tokens >= 70]
    assert len(found) >= len(later) / 2


async def test_the_platform_answers_no_more_unanswerable_questions_than_the_model_alone(
    rows: list[Row],
) -> None:
    answered = {
        system: sum(not row.answerable and row.outcome == "wrong" for row in of(rows, system))
        for system in (ALONE, "loreglass")
    }
    assert answered["loreglass"] <= answered[ALONE]
