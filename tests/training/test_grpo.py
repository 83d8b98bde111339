"""GRPO on a tiny model: learning, loss masks, resuming and refused settings."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from gateway.pipelines.wiki_prf.model import plan_prompt
from gateway.reasoners import model_options
from gateway.settings import GatewaySettings
from tests.models.tiny_domain import begun
from tests.training.asking import (
    LOOSE,
    PLAN,
    base_saying,
    finding_nothing,
    grpo_config,
    questions,
    served,
)
from tests.training.made import photo, sft_config, trained
from training.config import WrongConfig
from training.grpo import tuning
from training.grpo.rollout import NAMES, Question, Trajectory, messages_of
from training.grpo.tuning import tune
from training.runs import ADAPTER, AFTER, BEFORE, RunFolder
from training.samples import ConversationSample, Label, Part, Task, digest, write_samples


@pytest.fixture(scope="module")
def started(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A question to learn from and one held out, and a LoRA that writes a plan in form every second time."""
    folder = tmp_path_factory.mktemp("started")
    every_question = questions(folder / "data", 2, held_out=1)
    return folder / "data", half_in_form(folder, weights, every_question[:1])


Tuned = Callable[..., RunFolder]


@pytest.fixture
def tuned(weights: Path, started: tuple[Path, Path], tmp_path: Path) -> Iterator[Tuned]:
    """Return a function that tunes the started LoRA in a run of the given name, or resumes that run."""
    data, adapter = started
    with served(finding_nothing()) as settings, base_saying("312") as base:

        def go(name: str, **varied: Any) -> RunFolder:
            config = grpo_config(data, weights, **{"adapter": str(adapter), "base": base, **varied})
            run = begun(tmp_path / name, config)
            tune(config, run, settings)
            return run

        yield go


def learnt_by(adapter: Path) -> dict[str, Any]:
    return dict(load_file(str(adapter / "adapter_model.safetensors")))


def test_reward_increases(tuned: Tuned) -> None:
    run = tuned("run", most_steps=7)
    steps = [line for line in run.metrics() if "reward" in line]
    earned = [line["rewards/tool_format/mean"] for line in steps]
    assert earned[0] < 0.8 < 0.85 < sum(earned[-4:]) / 4
    assert {f"rewards/{name}/mean" for name in NAMES} <= set(steps[0])
    rollouts = run.rollouts()
    assert [rollout.step for rollout in rollouts] == [step for step in range(7) for _ in range(8)]
    assert LOOSE in {rollout.plan for rollout in rollouts[:8]}
    assert LOOSE not in {rollout.plan for rollout in rollouts[-16:]}
    assert [each.in_form for each in run.predictions(AFTER)] == [True]
    assert learnt_by(run.path / ADAPTER)


def test_foreign_tokens_carry_no_loss(
    tuned: Tuned, started: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    rolled_out = tuning.Rollouts._rolled_out

    def by_others(self: tuning.Rollouts, *given: Any, **named: Any) -> list[Trajectory]:
        made = rolled_out(self, *given, **named)
        for trajectory in made:
            trajectory.mask = [0] * len(trajectory.mask)
        return made

    monkeypatch.setattr(tuning.Rollouts, "_rolled_out", by_others)
    before, learnt = learnt_by(started[1]), learnt_by(tuned("run", most_steps=2).path / ADAPTER)
    assert all(learnt[key].equal(before[key]) for key in before)


def test_interrupted_run_equals_uninterrupted_run(tuned: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    of_batch = tuning.Rollouts.of_batch

    def until_the_fourth(self: tuning.Rollouts, trainer: Any) -> dict[str, Any]:
        made = of_batch(self, trainer)
        if trainer.state.global_step == 3:
            raise SystemExit("the power failed")
        return made

    settings = {"most_steps": 4, "checkpoint_every": 2, "temperature": 1.2}
    with monkeypatch.context() as patch:
        patch.setattr(tuning.Rollouts, "of_batch", until_the_fourth)
        with pytest.raises(SystemExit):
            tuned("broken", **settings)
    one, broken = tuned("one", **settings), tuned("broken", **settings)
    learnt, again = learnt_by(one.path / ADAPTER), learnt_by(broken.path / ADAPTER)
    assert all(learnt[key].equal(again[key]) for key in learnt)
    assert one.rollouts() == broken.rollouts()
    assert one.predictions(BEFORE) == broken.predictions(BEFORE)
    assert len({rollout.plan for rollout in one.rollouts()}) > 2


def test_held_out_rollouts_do_not_depend_on_the_seed(tuned: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    rolled_out, recorded = tuning.Rollouts._rolled_out, list[Trajectory]()

    def record(self: tuning.Rollouts, *values: Any, **named: Any) -> list[Trajectory]:
        trajectories = rolled_out(self, *values, **named)
        recorded.extend(trajectories)
        return trajectories

    monkeypatch.setattr(tuning.Rollouts, "_rolled_out", record)
    few = {"base": {}, "most_steps": 1, "group": 2, "batch_size": 2, "device_batch_size": 2}
    for seed in (0, 1):
        run = tuned(str(seed), seed=seed, temperature=2.0, **few)
        assert [each.confidence is None for each in run.predictions(BEFORE)] == [False]
    before, learnt, also_learnt, _, before_again, learnt_again, *_ = [each.ids for each in recorded]
    assert before == before_again
    assert learnt not in (also_learnt, learnt_again)  # training rollouts are sampled


def half_in_form(folder: Path, weights: Path, chosen_questions: Sequence[Question]) -> Path:
    """A LoRA that writes a plan in form about every second time."""
    options = model_options(GatewaySettings())
    chats = folder / "chats"
    samples = [
        ConversationSample(
            id=digest(each.sample.id, label),
            task=Task.FILTER,
            part=Part.TRAIN,
            origin=each.sample.origin,
            photo=photo(chats, number),
            messages=messages_of(plan_prompt(each.query, options)),
            label=label,
            source=Label.OWN,
            question=each.sample.question,
        )
        for number, each in enumerate(chosen_questions)
        for label in (PLAN, LOOSE)
    ]
    write_samples(chats, Task.FILTER, samples)
    lora = {"rank": 8, "alpha": 16, "dropout": 0.0}
    config = sft_config(chats, weights, tasks=["filter"], epochs=45, lora=lora, max_reply_tokens=200)
    return trained(config, folder / "started").path / ADAPTER


@pytest.mark.parametrize(
    ("held_out", "varied", "message"),
    [
        (1, {}, "--task question"),
        (0, {"batch_size": 16}, "The questions to learn from, 1, are too few .* 8 at most"),
        (0, {"batch_size": 8, "device_batch_size": 3}, "batch_size, 8, must be a multiple of .*, 3, times"),
    ],
)
def test_missing_questions_and_an_impossible_batch_are_refused(
    weights: Path, tmp_path: Path, held_out: int, varied: dict[str, int], message: str
) -> None:
    questions(tmp_path / "data", 1, held_out)
    config = grpo_config(tmp_path / "data", weights, **varied)
    run = begun(tmp_path / "run", config)
    with pytest.raises(WrongConfig, match=message):
        tune(config, run, GatewaySettings())
