"""LoRA by supervised fine-tuning: TRL's SFTTrainer on the samples of one or several tasks.

An interrupted run gives the same result: the order of data is seeded, and checkpoints hold the optimiser, the
schedule and the states of all random generators.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evaluation.data.progress import bar
from training.chat import Chats, replies
from training.models import load, with_lora
from training.runs import Prediction, RunFolder
from training.samples import Task
from training.sft.mixture import Located, Mixture, read_mixture
from training.sft.settings import SftConfig
from training.trainers import arguments, train_between

FILTER_TOKENS = 448


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
