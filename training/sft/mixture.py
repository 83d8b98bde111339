"""Mix the samples of several tasks into one training set, in a seeded order."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from evaluation.data.progress import bar
from training.chat import Chats, Turn, UnfitSample
from training.config import WrongConfig
from training.samples import ConversationSample, Label, Part, RejectedRow, Task, read_folders
from training.sft.settings import SftConfig


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
    """Describe the sample, its turn and its run."""
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
