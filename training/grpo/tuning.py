"""GRPO by TRL, over rollouts of the platform's own pipeline (Wiki-PRF, section 3.5)."""

import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from typing import Any

import anyio

from chassis.http.calls import ServiceClient, http_client
from chassis.http.client import Endpoint
from evaluation.data.progress import bar
from gateway.clients.services import PhotoRecipients, Services, weightless
from gateway.llm.client import VlmClient
from gateway.pipelines.wiki_prf.model import plan_prompt
from gateway.reasoners import model_options
from gateway.settings import GatewaySettings
from gateway.thresholds import load_thresholds
from training.chat import Chats, chat_of
from training.config import WrongConfig
from training.grpo.rollout import NAMES, Platform, Question, Roller, Trajectory, messages_of, rewards
from training.grpo.served import WritingServer
from training.grpo.settings import GrpoConfig
from training.grpo.writing import OwnWriter, Writer
from training.models import load, with_lora
from training.runs import Prediction, Rollout, RunFolder
from training.samples import Part, Task, read_folders
from training.trainers import arguments, train_between

SERVED = "served-adapter"
"""A run's folder with the LoRA of the current step, for the vLLM server."""


def tune(config: GrpoConfig, run: RunFolder, settings: GatewaySettings) -> None:
    """Train or continue; write the adapter, and predictions of rollouts before and after.

    `settings`: the gateway's, which say where the services are. Raises `WrongConfig`, `UnreadableData`,
    `RunRefused` and `ServicesDown`.
    """
    from trl import GRPOConfig as TrlConfig

    train, held_out = _questions(config, run)
    trl_config = arguments(config, config.model, run, TrlConfig, **_of_grpo(config))
    loaded = load(config.model)
    loaded.tokenizer.padding_side = "left"
    chats = Chats(loaded.processor)
    with closing(Rollouts(config, settings, chats, train, run)) as rollouts:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "You are using 'rollout_func'", UserWarning)  # trl is locked
            trainer = _trainer_class()(
                model=with_lora(loaded, config.lora, config.seed, config.adapter),
                args=trl_config,
                train_dataset=_data_set(train, chats, settings),
                reward_funcs=[_reward(name) for name in NAMES],
                processing_class=loaded.processor,
                rollout_func=lambda _, trainer: rollouts.of_batch(trainer),
            )
        train_between(trainer, run, held_out, partial(rollouts.predict, trainer))
    run.finish(_summary(config, train, held_out))


class Rollouts:
    """Makes a batch's rollouts and rewards, and stores them in the run."""

    def __init__(
        self,
        config: GrpoConfig,
        settings: GatewaySettings,
        chats: Chats,
        train: Sequence[Question],
        run: RunFolder,
    ) -> None:
        self._config = config
        self._settings = settings
        self._chats = chats
        self._train = train
        self._run = run
        url, folder = config.vllm_url, run.path / SERVED
        self._server = WritingServer(url, folder, config.write_at_once, config.rollout_s) if url else None

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def of_batch(self, trainer: Any) -> dict[str, Any]:
        """Return what TRL expects of a rollout function, for the trainer's batch."""
        questions = [self._train[place] for place in trainer.places]
        trajectories = self._rolled_out(trainer, questions, self._config.temperature)
        by_scorer = self._config.answer_by == "scorer"
        earned = [
            rewards(trajectory, question.sample, by_scorer=by_scorer)
            for trajectory, question in zip(trajectories, questions, strict=True)
        ]
        step = trainer.state.global_step
        self._run.add_rollouts(
            [_rollout(step, *each) for each in zip(trajectories, questions, earned, strict=True)]
        )
        return {
            "prompt_ids": [list(each.prompt) for each in trajectories],
            "completion_ids": [each.ids for each in trajectories],
            "logprobs": None,
            "env_mask": [each.mask for each in trajectories],
            **{name: [each[name] for each in earned] for name in NAMES},
        }

    def predict(self, trainer: Any, share: Sequence[Question]) -> list[Prediction]:
        """Make one rollout of each held-out question, greedily as when it is served."""
        mine, size = list[Prediction](), self._config.batch_size
        for start in bar(range(0, len(share), size), "rollouts of the held-out part"):
            batch = share[start : start + size]
            mine += map(_prediction, self._rolled_out(trainer, batch, temperature=0.0), batch)
        return mine

    def _rolled_out(
        self, trainer: Any, questions: Sequence[Question], temperature: float
    ) -> list[Trajectory]:
        config, chats = self._config, self._chats
        writer: Writer = OwnWriter(trainer, chats, temperature, config.top_p, config.write_at_once)
        if self._server is not None:
            self._server.update(trainer)
            writer = partial(self._server.write, chats=chats, temperature=temperature, top_p=config.top_p)
        roller = Roller(chats, writer, config.rollout_s)

        async def work() -> list[Trajectory]:
            async with open_platform(config, self._settings) as platform:
                return await roller.roll_out(platform, questions)

        return anyio.run(work)


@asynccontextmanager
async def open_platform(config: GrpoConfig, settings: GatewaySettings) -> AsyncIterator[Platform]:
    """Open clients of the services in the gateway's settings and of the frozen base in the config."""
    token = settings.services.read_token()
    async with http_client() as http:
        clients = {
            name: ServiceClient(http, name, getattr(settings, f"{name}_url"), token=token)
            for name in Services.names()
        }
        photo_to = PhotoRecipients(settings.photo_to_domain_router, settings.photo_to_reranker)
        services = Services(**clients, photo_to=photo_to, weigh=weightless)
        base = None
        if config.base.url:
            key = settings.vlm_key.get_secret_value()
            base = VlmClient(http, Endpoint(config.base.url, config.base.model, key))
        missing = frozenset({"refusals"}) if config.short_answers else frozenset[str]()
        yield Platform(services, load_thresholds(), model_options(settings), base, missing)


def _questions(config: GrpoConfig, run: RunFolder) -> tuple[list[Question], list[Question]]:
    """Return questions to learn from and to measure on. Raises `WrongConfig` if there are too few."""
    samples, left_out = read_folders(config.data, Task.QUESTION)
    run.leave_out(left_out)
    parts: dict[Part, list[Question]] = {part: [] for part in Part}
    for sample, photo in samples:
        parts[sample.part].append(Question(sample, photo))
    train = parts[Part.TRAIN][: config.most_questions]
    if not train:
        raise WrongConfig("There is no question to learn from: `loreglass train data … --task question`.")
    if len(train) * config.group < config.batch_size:  # TRL leaves out a step that is not full
        raise WrongConfig(
            f"The questions to learn from, {len(train)}, are too few for one step: batch_size may be "
            f"{len(train) * config.group} at most."
        )
    return train, parts[Part.HELD_OUT][: config.held_out]


def _of_grpo(config: GrpoConfig) -> dict[str, Any]:
    """Return TRL's arguments that only GRPO has."""
    weights = config.rewards
    return {
        "num_generations": config.group,
        "temperature": config.temperature,
        "top_p": config.top_p,
        "epsilon": config.clip,
        "beta": config.kl,
        "loss_type": "grpo",
        "scale_rewards": "group",
        "reward_weights": [getattr(weights, name) for name in NAMES],
        "max_completion_length": None,
        "shuffle_dataset": True,
    }


def _trainer_class() -> Any:
    from trl import GRPOTrainer

    class RolloutTrainer(GRPOTrainer):  # type: ignore[misc]  # no types are read
        """TRL's trainer, with the rows of the current batch for the rollout function."""

        places: Sequence[int] = ()

        def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
            self.places = [row["place"] for row in inputs]
            scored: dict[str, Any] = super()._generate_and_score_completions(inputs)
            return scored

    return RolloutTrainer


def _data_set(train: Sequence[Question], chats: Chats, settings: GatewaySettings) -> Any:
    """Return the plan's prompt of each question; its photo is opened when the row is read."""
    from datasets import Dataset

    options = model_options(settings)

    def rows(batch: dict[str, list[int]]) -> dict[str, list[Any]]:
        questions = [train[place] for place in batch["place"]]
        return {
            "place": batch["place"],
            "prompt": [chat_of(messages_of(plan_prompt(each.query, options))) for each in questions],
            "images": [[] if each.photo is None else [chats.photo(each.photo)] for each in questions],
        }

    return Dataset.from_dict({"place": list(range(len(train)))}).with_transform(rows)


def _reward(name: str) -> Any:
    """Return a reward function that passes on what was earned when the rollout was made."""

    def reward(completions: Sequence[Any], **columns: Any) -> list[float]:
        return [float(earned) for earned in columns[name]]

    reward.__name__ = name
    return reward


def _rollout(step: int, trajectory: Trajectory, question: Question, earned: dict[str, float]) -> Rollout:
    return Rollout(
        step=step,
        sample=question.sample.id,
        question=question.sample.question,
        gold=question.sample.gold,
        plan=trajectory.plan,
        knowledge=trajectory.knowledge,
        answer=trajectory.answer,
        rewards=earned,
        failed=trajectory.failed,
        own_tokens=sum(trajectory.mask),
        tokens=len(trajectory.ids),
    )


def _prediction(trajectory: Trajectory, question: Question) -> Prediction:
    earned, sample = rewards(trajectory, question.sample), question.sample
    in_form = bool(earned["tool_format"]) and (trajectory.knowledge is None or bool(earned["filter_format"]))
    return Prediction(
        sample=sample.id,
        task=Task.QUESTION,
        question=sample.question,
        said=trajectory.answer,
        gold=sample.gold,
        truth=sample.truth,
        confidence=None if trajectory.confidence is None else round(trajectory.confidence, 4),
        calls=int(earned["tool_use"]),
        in_form=in_form,
    )


def _summary(config: GrpoConfig, train: Sequence[Question], held_out: Sequence[Question]) -> dict[str, Any]:
    return {
        "kind": "grpo",
        "model": config.model.weights,
        "preset": config.model.preset,
        "questions": len(train),
        "held_out": len(held_out),
        "rewards": config.rewards.model_dump(),
    }
