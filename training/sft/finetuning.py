"""LoRA by supervised fine-tuning: TRL's SFTTrainer on the samples of one or several tasks.

The run is the same whether it was broken off or not: data in a seeded order, and checkpoints that hold the
optimiser, the schedule and the states of all random generators.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from training.chat import Chats, replies
from training.libraries import bar, silent
from training.models import load, with_lora, without_input_gradients
from training.runs import ADAPTER, AFTER, BEFORE, Prediction, RunFolder
from training.samples import Task
from training.sft.mixture import Located, Mixture, read_mixture
from training.sft.settings import SftConfig
from training.trainers import arguments, last_checkpoint, on_main, shared_out, show_in

FILTER_TOKENS = 448


def finetune(config: SftConfig, run: RunFolder) -> None:
    """Train, or go on, and write the adapter and what the model says of the held-out part before and after.

    Raises `WrongConfig`, `UnreadableData` and `RunRefused`.
    """
    from datasets import Dataset
    from trl import SFTConfig as TrlConfig
    from trl import SFTTrainer

    collated = {"dataset_kwargs": {"skip_prepare_dataset": True}, "max_length": None}
    given = arguments(config, config.model, run, TrlConfig, **collated)
    loaded = load(config.model)
    chats = Chats(loaded.processor)
    mixture = read_mixture(config, chats, bar if on_main() else silent)
    run.leave_out(mixture.left_out)
    for fault in mixture.faults:
        run.say(fault)

    def collate(rows: Sequence[dict[str, int]]) -> dict[str, Any]:
        return chats.training_inputs([mixture.train[row["place"]].turn for row in rows])

    trainer = SFTTrainer(
        model=with_lora(loaded, config.lora, config.seed, config.adapter),
        args=given,
        train_dataset=Dataset.from_dict({"place": list(range(len(mixture.train)))}),
        data_collator=collate,
        processing_class=loaded.processor,
    )
    show_in(run, trainer)
    without_input_gradients(trainer.model)
    _predict(trainer, chats, mixture, config, run, BEFORE)
    checkpoint = last_checkpoint(run)
    if checkpoint:
        run.go_on_after(int(checkpoint.name.rpartition("-")[2]))
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if on_main():
        trainer.model.save_pretrained(str(run.path / ADAPTER))
    _predict(trainer, chats, mixture, config, run, AFTER)
    run.finish(_summary(config, mixture))


def predictions(
    model: Any, chats: Chats, located: Sequence[Located], most_tokens: int, batch_size: int = 1
) -> list[Prediction]:
    """What the model says about samples."""
    said = replies(model, chats, [each.turn for each in located], most_tokens, batch_size)
    return [
        Prediction.of(each.sample, reply.text, reply.confidence)
        for each, reply in zip(located, bar(said, "replying to the held-out part", len(located)), strict=True)
    ]


def _predict(
    trainer: Any, chats: Chats, mixture: Mixture, config: SftConfig, run: RunFolder, when: str
) -> None:
    """Each process does its share. What is there already is not said again."""
    if not mixture.held_out or (when == BEFORE and run.has_predictions(BEFORE)):
        return
    size = config.device_batch_size
    mine = predictions(trainer.model, chats, shared_out(mixture.held_out), _most_tokens(config), size)
    everybody = trainer.accelerator.gather_for_metrics([mine], use_gather_object=True)
    if on_main():
        run.write_predictions(when, sorted_like(mixture.held_out, everybody))


def sorted_like(located: Sequence[Located], parts: Iterable[list[Prediction]]) -> list[Prediction]:
    """Predictions of several processes, in the order of the samples."""
    found = {prediction.sample: prediction for part in parts for prediction in part}
    return [found[each.sample.id] for each in located]


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
        "faults": mixture.faults,
    }
