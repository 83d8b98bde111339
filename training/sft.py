"""LoRA by supervised fine-tuning: TRL's SFTTrainer on the samples of one or several tasks.

An interrupted run gives the same result: the order of data is seeded, and checkpoints hold the optimiser, the
schedule and the states of all random generators.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from evaluation.data.progress import bar
from training.chat import Chats, Turn, UnfitSample, replies
from training.config import LoraSettings, ModelSettings, RunSettings, WrongConfig
from training.models import load, with_lora
from training.runs import Prediction, RunFolder
from training.samples import CONVERSATIONS, ConversationSample, Label, Part, RejectedRow, Task, read_folders
from training.trainers import arguments, train_between


class SftConfig(RunSettings):
    """One model on several tasks at once (BlackPearl, section 3.3).

    `data`: folders that `loreglass train data` wrote. `adapter`: a LoRA to go on from. `refusal_share`: at
    most this share of the answers to learn are refusals; None: as they come (Table 6: fewer is better).
    `max_prompt_tokens`, `max_reply_tokens`: longer samples are left out by name.
    """

    data: tuple[Path, ...] = ()
    tasks: tuple[Task, ...] = Field(default=(Task.QUERY, Task.RERANK, Task.ANSWER), min_length=1)
    model: ModelSettings
    adapter: Path | None = None
    lora: LoraSettings = LoraSettings()
    refusal_share: float | None = Field(default=None, ge=0, lt=1)
    max_prompt_tokens: int = Field(default=8192, ge=1)
    max_reply_tokens: int = Field(default=75, ge=1)

    @field_validator("tasks")
    @classmethod
    def _are_conversations(cls, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
        others = [task.value for task in tasks if task not in CONVERSATIONS]
        if others:
            raise ValueError(f"{others[0]} is no task of a language model")
        return tasks


FILTER_TOKENS = 448


@dataclass(frozen=True, slots=True)
class Located:
    """A sample and the path of its photo."""

    sample: ConversationSample
    photo: Path | None

    @property
    def turn(self) -> Turn:
        """Return the chat with the reply to learn."""
        return Turn(self.sample.messages, self.photo, self.sample.label)


@dataclass(frozen=True, slots=True)
class Mixture:
    """Samples to learn, in order; samples to measure on; rows that are invalid or too long."""

    train: tuple[Located, ...]
    held_out: tuple[Located, ...]
    left_out: tuple[RejectedRow, ...]


def finetune(config: SftConfig, run: RunFolder) -> None:
    """Train or continue; write the adapter, and replies to the held-out part before and after.

    Raises `WrongConfig`, `UnreadableData` and `RunRefused`.
    """
    from datasets import Dataset
    from trl import SFTConfig as TrlConfig
    from trl import SFTTrainer

    collated = {"dataset_kwargs": {"skip_prepare_dataset": True}, "max_length": None}
    trl_config = arguments(config, config.model, run, TrlConfig, **collated)
    loaded = load(config.model)
    chats = Chats(loaded.processor)
    mixture = read_mixture(config, chats)
    run.leave_out(mixture.left_out)

    def collate(rows: Sequence[dict[str, int]]) -> dict[str, Any]:
        return chats.training_inputs([mixture.train[row["place"]].turn for row in rows])

    trainer = SFTTrainer(
        model=with_lora(loaded, config.lora, config.seed, config.adapter),
        args=trl_config,
        train_dataset=Dataset.from_dict({"place": list(range(len(mixture.train)))}),
        data_collator=collate,
        processing_class=loaded.processor,
    )

    def predict(share: Sequence[Located]) -> list[Prediction]:
        return predictions(trainer.model, chats, share, _most_tokens(config), config.device_batch_size)

    train_between(trainer, run, mixture.held_out, predict)
    run.finish(_summary(config, mixture))


def predictions(
    model: Any, chats: Chats, located: Sequence[Located], most_tokens: int, batch_size: int = 1
) -> list[Prediction]:
    """Return the model's replies to samples."""
    texts = replies(model, chats, [each.turn for each in located], most_tokens, batch_size)
    return [
        Prediction.of(each.sample, reply.text, reply.confidence)
        for each, reply in zip(
            located, bar(texts, "replying to the held-out part", len(located)), strict=True
        )
    ]


def _most_tokens(config: SftConfig) -> int:
    return max(config.max_reply_tokens, FILTER_TOKENS if Task.FILTER in config.tasks else 0)


def _summary(config: SftConfig, mixture: Mixture) -> dict[str, Any]:
    by_task = Counter(each.sample.task.value for each in mixture.train)
    return {
        "kind": "sft",
        "model": config.model.weights,
        "preset": config.model.preset,
        "samples": dict(by_task),
        "refusals": sum(each.sample.source.value == "refusal" for each in mixture.train),
        "held_out": len(mixture.held_out),
        "left_out": len(mixture.left_out),
    }


def read_mixture(config: SftConfig, chats: Chats) -> Mixture:
    """Read all samples of the config's folders and tasks.

    Raises `UnreadableData`, and `WrongConfig` if nothing is left to learn.
    """
    to_learn, held_out, left_out = select_samples(config)
    random.Random(config.seed).shuffle(to_learn)
    train = _fitting(bar(to_learn, "measuring samples"), chats, config, left_out)
    mixture = Mixture(train, _sample(held_out, config), tuple(left_out))
    if not train:
        first = f" The first: {left_out[0].where}: {left_out[0].why}." if left_out else ""
        raise WrongConfig(
            f"There is no sample to learn in {', '.join(map(str, config.data)) or 'no folder of data'}; "
            f"{len(left_out)} rows were left out.{first}"
        )
    if config.device_batch_size > 1 and len({each.photo is None for each in train}) > 1:
        raise WrongConfig("device_batch_size must be 1: some samples have a photo and some have none.")
    return mixture


def select_samples(config: SftConfig) -> tuple[list[Located], list[Located], list[RejectedRow]]:
    """Return samples to learn, held-out ones, and invalid rows. Raises `UnreadableData`."""
    located, rejected = list[Located](), list[RejectedRow]()
    for task in config.tasks:
        samples, left_out = read_folders(config.data, task)
        located += [Located(*each) for each in samples]
        rejected += left_out
    parts = {part: [each for each in located if each.sample.part is part] for part in Part}
    train = within_refusal_share(parts[Part.TRAIN], config.refusal_share, config.seed)
    return train, parts[Part.HELD_OUT], rejected


def within_refusal_share(samples: Sequence[Located], share: float | None, seed: int) -> list[Located]:
    """Return the samples with at most this share of refusals, chosen by the seed, among the answers."""
    refusals = [each for each in samples if each.sample.source is Label.REFUSAL]
    answers = sum(each.sample.task is Task.ANSWER for each in samples) - len(refusals)
    if share is None:
        return list(samples)
    most = int(share * answers / (1 - share) + 1e-9)
    some = {each.sample.id for each in random.Random(seed).sample(refusals, min(most, len(refusals)))}
    return [each for each in samples if each.sample.source is not Label.REFUSAL or each.sample.id in some]


def _fitting(
    samples: Iterable[Located], chats: Chats, config: SftConfig, left_out: list[RejectedRow]
) -> tuple[Located, ...]:
    fit = []
    for each in samples:
        try:
            prompt, reply = chats.length(each.turn)
            if prompt > config.max_prompt_tokens or reply > config.max_reply_tokens:
                raise UnfitSample(
                    f"it has {prompt} tokens to read and {reply} to write; "
                    f"{config.max_prompt_tokens} and {config.max_reply_tokens} are allowed"
                )
        except UnfitSample as error:
            left_out.append(RejectedRow(where=place_of(each.sample), why=str(error)))
        else:
            fit.append(each)
    return tuple(fit)


def place_of(sample: ConversationSample) -> str:
    origin = sample.origin
    turn = f"{origin.run}, interaction {origin.interaction_id}"
    return f"{sample.task.value} sample {sample.id} ({turn})"


def _sample(samples: Sequence[Located], config: SftConfig) -> tuple[Located, ...]:
    """Return at most `held_out` of them, tasks in turn, chosen by the seed."""
    by_task: dict[Task, list[Located]] = {task: [] for task in config.tasks}
    for each in random.Random(config.seed).sample(list(samples), len(samples)):
        by_task[each.sample.task].append(each)
    in_turn = (each for several in zip_longest(*by_task.values()) for each in several if each is not None)
    return tuple(islice(in_turn, config.held_out))
