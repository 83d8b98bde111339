"""Rollouts run the real pipeline, and only the trained model's own tokens carry loss."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from bench.node import ServerTraits
from contracts.cropper import CropReply
from contracts.image_search import ImageSearchReply
from gateway.llm.prompt import Prompt
from gateway.settings import GatewaySettings
from tests.training.asking import (
    KNOWLEDGE,
    LOOSE,
    PLAN,
    base_saying,
    grpo_config,
    questions,
    served,
    tiny_model,
)
from tests.training.tiny_models import tiny_qwen3_vl, tiny_qwen25_vl
from tests.unit.gateway.fakes import FakeServices, crop_region, image_hit
from tests.unit.gateway.llm.stage import PHOTO
from training.chat import Chats, Turn
from training.grpo import rollout
from training.grpo.rollout import Question, Roller, ServicesDown, Trajectory, messages_of
from training.grpo.settings import GrpoConfig
from training.grpo.tuning import open_platform
from training.grpo.writing import Ask, Continuation, cut_at_end
from training.models import load


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a tiny Qwen2.5-VL."""
    return tiny_model(tmp_path_factory.mktemp("weights"))


@pytest.fixture
def services() -> FakeServices:
    """They find one book and, in its photo, one region."""
    fakes = FakeServices()
    region = crop_region(PHOTO.jpeg)
    fakes.cropper.reply = CropReply(regions=[region], width=96, height=64)
    fakes.image_search.reply = ImageSearchReply(hits=[image_hit()], collection="images")
    return fakes


class Scripted:
    """A writer that knows its lines; it remembers what it was asked to go on from."""

    def __init__(self, chats: Chats, plan: str, knowledge: str, base: str = "I do not know.") -> None:
        self.asks: list[Ask] = []
        self._chats = chats
        self._lines = {"</tool>": plan, "</answer>": knowledge, "": base}

    def __call__(self, asks: Sequence[Ask]) -> list[Continuation]:
        self.asks += asks
        return [self._line(ask) for ask in asks]

    def _line(self, ask: Ask) -> Continuation:
        ids = [*self._chats.ids(self._lines[ask.ends_with]), self._chats.tokenizer.eos_token_id]
        part = cut_at_end(ids, ask, self._chats.tokenizer)
        return Continuation(part, [0.75] * len(part) if ask.frozen else None)


def roll_out(
    config: GrpoConfig,
    settings: GatewaySettings,
    chats: Chats,
    writer: Scripted,
    some_questions: Sequence[Question],
) -> list[Trajectory]:
    """Rollouts by a scripted writer."""

    async def work() -> list[Trajectory]:
        async with open_platform(config, settings) as platform:
            roller = Roller(chats, writer, config.rollout_s)
            return await roller.roll_out(platform, some_questions)

    return anyio.run(work)


def own_words(chats: Chats, trajectory: Trajectory) -> list[str]:
    """What carries loss, stretch by stretch."""
    stretches: list[list[int]] = [[]]
    for token, own in zip(trajectory.ids, trajectory.mask, strict=True):
        if own:
            stretches[-1].append(token)
        elif stretches[-1]:
            stretches.append([])
    return [chats.tokenizer.decode(ids) for ids in stretches if ids]


def test_rollout_follows_the_pipeline_and_masks_foreign_tokens(
    weights: Path, services: FakeServices, tmp_path: Path
) -> None:
    (question,) = questions(tmp_path / "data", 1)
    chats = Chats(load(grpo_config(tmp_path, weights).model).processor)
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    with served(services) as settings, base_saying("It has 312 pages.") as base:
        config = grpo_config(tmp_path / "data", weights, base=base)
        (trajectory,) = roll_out(config, settings, chats, writer, [question])
    assert (trajectory.plan, trajectory.knowledge) == (PLAN, KNOWLEDGE)
    assert trajectory.answer == "It has 312 pages."
    assert own_words(chats, trajectory) == [PLAN + "<|im_end|>", KNOWLEDGE + "<|im_end|>"]
    prompt = chats.tokenizer.decode(
        [token for token, own in zip(trajectory.ids, trajectory.mask, strict=True) if not own]
    )
    assert "TASK: from the pieces that were retrieved" in prompt
    assert "has 312 pages" in prompt
    assert [len(service.calls) for service in (services.cropper, services.image_search)] == [1, 2]
    assert not trajectory.failed


def test_answers_are_short_where_the_settings_ask_for_it(
    weights: Path, services: FakeServices, tmp_path: Path
) -> None:
    (question,) = questions(tmp_path / "data", 1)
    chats = Chats(load(grpo_config(tmp_path, weights).model).processor)
    with served(services) as settings, base_saying("It has 312 pages.") as base:
        config = grpo_config(tmp_path / "data", weights, base=base, short_answers=True)
        (trajectory,) = roll_out(config, settings, chats, Scripted(chats, PLAN, KNOWLEDGE), [question])
    assert trajectory.answer == "312"


@pytest.mark.parametrize("build", [tiny_qwen25_vl, tiny_qwen3_vl])
def test_filter_trains_on_the_served_tokens(build: Any, services: FakeServices, tmp_path: Path) -> None:
    (question,) = questions(tmp_path / "data", 1)
    config = grpo_config(tmp_path / "data", build(tmp_path / "model"))
    chats = Chats(load(config.model).processor)
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    sent: list[Prompt[Any]] = []

    complete = rollout.Member.complete

    async def listen(self: Any, prompt: Prompt[Any], deadline: Any) -> Any:
        sent.append(prompt)
        return await complete(self, prompt, deadline)

    with served(services) as settings, base_saying("312") as base, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollout.Member, "complete", listen)
        config = config.model_copy(update={"base": type(config.base)(**base)})
        (trajectory,) = roll_out(config, settings, chats, writer, [question])
    plan, knowledge = (prompt for prompt in sent if prompt.name in {rollout.PLAN, rollout.FILTER})
    for prompt, ask in zip((plan, knowledge), writer.asks, strict=True):
        chat = Turn(messages_of(prompt), question.photo)
        assert chats.inputs([chat])["input_ids"][0].tolist() == list(ask.ids)
    assert trajectory.prompt == writer.asks[0].ids


def test_trajectory_has_answer_confidence(weights: Path, services: FakeServices, tmp_path: Path) -> None:
    (question,) = questions(tmp_path / "data", 1)
    chats = Chats(load(grpo_config(tmp_path, weights).model).processor)

    def confidence(writer: Scripted, base: dict[str, str]) -> float | None:
        (trajectory,) = roll_out(
            grpo_config(tmp_path / "data", weights, base=base), settings, chats, writer, [question]
        )
        assert bool(trajectory.answer) is (writer is not refusing)
        return trajectory.confidence

    answering, refusing = Scripted(chats, PLAN, KNOWLEDGE, "It has 312 pages."), Scripted(chats, PLAN, LOOSE)
    with served(services) as settings:
        assert confidence(answering, {}) == pytest.approx(0.75)
        assert confidence(refusing, {}) == 0
        with base_saying("It has 312 pages.") as base:
            assert 0 < (confidence(answering, base) or 0) <= 1
        with base_saying("It has 312 pages.", ServerTraits(logprobs=False)) as base:
            assert confidence(answering, base) is None


def test_services_that_are_all_down_stop_the_training(weights: Path, tmp_path: Path) -> None:
    (question,) = questions(tmp_path / "data", 1)
    config = grpo_config(tmp_path / "data", weights)
    chats = Chats(load(config.model).processor)
    unreachable = GatewaySettings(
        **{
            f"{name}_url": "http://127.0.0.1:9"
            for name in ("image_search", "text_search", "cropper", "reranker")
        }
    )
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    with pytest.raises(ServicesDown, match="image_search"):
        roll_out(config, unreachable, chats, writer, [question])
    assert [ask.frozen for ask in writer.asks] == [
        False,
        True,
    ]  # the base answered all the same, without its LoRA


def test_writer_errors_are_raised(weights: Path, services: FakeServices, tmp_path: Path) -> None:
    (question,) = questions(tmp_path / "data", 1)
    config = grpo_config(tmp_path / "data", weights)
    chats = Chats(load(config.model).processor)

    class OutOfMemory(Scripted):
        def __call__(self, asks: Sequence[Ask]) -> list[Continuation]:
            raise MemoryError("no room for the batch")

    with served(services) as settings, pytest.raises(MemoryError):
        roll_out(config, settings, chats, OutOfMemory(chats, PLAN, KNOWLEDGE), [question])
