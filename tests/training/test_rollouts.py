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
)
from tests.training.tiny_models import tiny_qwen3_vl, tiny_qwen25_vl
from tests.unit.gateway.fakes import FakeServices, crop_region, image_hit, service_settings
from tests.unit.gateway.llm.stage import PHOTO
from training.chat import Chats, Turn
from training.grpo import rollout
from training.grpo.rollout import Question, Roller, ServicesDown, Trajectory, messages_of
from training.grpo.settings import GrpoConfig
from training.grpo.tuning import open_platform
from training.grpo.writing import Ask, Continuation, cut_at_end
from training.models import load


@pytest.fixture(scope="module")
def chats(weights: Path) -> Chats:
    return Chats(load(grpo_config(weights, weights).model).processor)


@pytest.fixture
def question(tmp_path: Path) -> Question:
    return questions(tmp_path / "data", 1)[0]


@pytest.fixture
def config(question: Question, weights: Path, tmp_path: Path) -> GrpoConfig:
    return grpo_config(tmp_path / "data", weights)


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
        self.chats = chats
        self._lines = {"</tool>": plan, "</answer>": knowledge, "": base}

    def __call__(self, asks: Sequence[Ask]) -> list[Continuation]:
        self.asks += asks
        return [self._line(ask) for ask in asks]

    def _line(self, ask: Ask) -> Continuation:
        ids = [*self.chats.ids(self._lines[ask.ends_with]), self.chats.tokenizer.eos_token_id]
        part = cut_at_end(ids, ask, self.chats.tokenizer)
        return Continuation(part, [0.75] * len(part) if ask.frozen else None)


def roll_out(
    config: GrpoConfig, settings: GatewaySettings, writer: Scripted, question: Question
) -> Trajectory:
    """Run one rollout of the question with a scripted model."""

    async def work() -> Trajectory:
        async with open_platform(config, settings) as platform:
            roller = Roller(writer.chats, writer, config.rollout_s)
            return (await roller.roll_out(platform, [question]))[0]

    return anyio.run(work)


def answered_by(config: GrpoConfig, base: dict[str, str], **varied: Any) -> GrpoConfig:
    """Return a copy of `config` with `base` as the frozen base model's server."""
    return GrpoConfig.model_validate(config.model_dump() | {"base": base, **varied})


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
    config: GrpoConfig, chats: Chats, question: Question, services: FakeServices
) -> None:
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    with served(services) as settings, base_saying("It has 312 pages.") as base:
        trajectory = roll_out(answered_by(config, base), settings, writer, question)
        short = roll_out(answered_by(config, base, short_answers=True), settings, writer, question)
    assert (trajectory.plan, trajectory.knowledge) == (PLAN, KNOWLEDGE)
    assert (trajectory.answer, short.answer) == ("It has 312 pages.", "312")
    assert own_words(chats, trajectory) == [PLAN + "<|im_end|>", KNOWLEDGE + "<|im_end|>"]
    prompt = chats.tokenizer.decode(
        [token for token, own in zip(trajectory.ids, trajectory.mask, strict=True) if not own]
    )
    assert "TASK: from the pieces that were retrieved" in prompt
    assert "has 312 pages" in prompt
    assert [len(service.calls) for service in (services.cropper, services.image_search)] == [2, 4]
    assert not trajectory.failed


@pytest.mark.parametrize("build", [tiny_qwen25_vl, tiny_qwen3_vl])
def test_filter_trains_on_the_served_tokens(
    build: Any, question: Question, services: FakeServices, tmp_path: Path
) -> None:
    config = grpo_config(tmp_path / "data", build(tmp_path / "model"))
    chats = Chats(load(config.model).processor)
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    sent, complete = list[Prompt[Any]](), rollout.Member.complete

    async def listen(self: Any, prompt: Prompt[Any], deadline: Any) -> Any:
        sent.append(prompt)
        return await complete(self, prompt, deadline)

    with served(services) as settings, base_saying("312") as base, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollout.Member, "complete", listen)
        trajectory = roll_out(answered_by(config, base), settings, writer, question)
    plan, knowledge = (prompt for prompt in sent if prompt.name in {rollout.PLAN, rollout.FILTER})
    for prompt, ask in zip((plan, knowledge), writer.asks, strict=True):
        chat = Turn(messages_of(prompt), question.photo)
        assert chats.inputs([chat])["input_ids"][0].tolist() == list(ask.ids)
    assert trajectory.prompt == writer.asks[0].ids


def test_trajectory_has_answer_confidence(
    config: GrpoConfig, chats: Chats, question: Question, services: FakeServices
) -> None:
    def confidence(writer: Scripted, base: dict[str, str]) -> float | None:
        trajectory = roll_out(answered_by(config, base), settings, writer, question)
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


def test_training_stops_if_all_services_are_down(
    config: GrpoConfig, chats: Chats, question: Question
) -> None:
    unreachable = GatewaySettings(**service_settings("http://127.0.0.1:9"))
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    with pytest.raises(ServicesDown, match="image_search"):
        roll_out(config, unreachable, writer, question)
    assert [ask.frozen for ask in writer.asks] == [False, True]  # the base model answered, without LoRA


def test_writer_errors_are_raised(
    config: GrpoConfig, chats: Chats, question: Question, services: FakeServices
) -> None:
    class OutOfMemory(Scripted):
        def __call__(self, asks: Sequence[Ask]) -> list[Continuation]:
            raise MemoryError("no room for the batch")

    with served(services) as settings, pytest.raises(MemoryError):
        roll_out(config, settings, OutOfMemory(chats, PLAN, KNOWLEDGE), question)
