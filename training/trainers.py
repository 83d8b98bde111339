"""Arguments, logs and checkpoints of both of TRL's trainers."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from training.config import ModelSettings, RunSettings, WrongConfig
from training.models import without_input_gradients
from training.runs import ADAPTER, AFTER, BEFORE, Prediction, RunFolder

_CHECKPOINTS = 2
"""How many of the last ones stay."""


def on_main() -> bool:
    """Return whether this is the process that writes and prints."""
    return bool(_processes().is_main_process)


def _processes() -> Any:
    from accelerate import PartialState

    return PartialState()


def arguments(config: RunSettings, model: ModelSettings, run: RunFolder, kind: Any, **more: Any) -> Any:
    """Return TRL's arguments of class `kind`. Raises `WrongConfig` for an impossible batch size."""
    import torch

    os.environ["TENSORBOARD_LOGGING_DIR"] = str(run.path / "tensorboard")
    on_card = torch.cuda.is_available()
    return kind(
        output_dir=str(run.checkpoints),
        num_train_epochs=config.epochs,
        max_steps=config.most_steps or -1,
        learning_rate=config.learning_rate,
        lr_scheduler_type=config.schedule,
        warmup_steps=config.warmup,
        optim=config.optimiser,
        per_device_train_batch_size=config.device_batch_size,
        gradient_accumulation_steps=backward_passes(config),
        gradient_checkpointing=model.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        seed=config.seed,
        bf16=on_card and model.dtype == "bfloat16",
        use_cpu=not on_card,
        dataloader_pin_memory=on_card,
        save_strategy="steps",
        save_steps=config.checkpoint_every,
        save_total_limit=_CHECKPOINTS,
        logging_steps=config.log_every,
        report_to=["tensorboard"],
        remove_unused_columns=False,
        **more,
    )


def backward_passes(config: RunSettings) -> int:
    """Return the backward passes a step. Raises `WrongConfig` if this is not a whole number."""
    processes = int(_processes().num_processes)
    passes, left = divmod(config.batch_size, config.device_batch_size * processes)
    if left:
        raise WrongConfig(
            f"batch_size, {config.batch_size}, must be a multiple of device_batch_size, "
            f"{config.device_batch_size}, times the processes that train, {processes}."
        )
    return passes


def train_between(
    trainer: Any,
    run: RunFolder,
    held_out: Sequence[Any],
    predict: Callable[[Sequence[Any]], list[Prediction]],
) -> None:
    """Train or continue; write the adapter, and predictions for `held_out` before and after.

    Each process predicts its share. Existing predictions from before the training stay.
    """

    def write(when: str) -> None:
        state = _processes()
        mine = predict(held_out[state.process_index :: state.num_processes])
        everybody = trainer.accelerator.gather_for_metrics([mine], use_gather_object=True)
        predictions = {each.sample: each for part in everybody for each in part}
        run.write_predictions(when, [predictions[each.sample.id] for each in held_out])

    show_in(run, trainer)
    without_input_gradients(trainer.model)
    if held_out and not run.has_predictions(BEFORE):
        write(BEFORE)
    checkpoint = last_checkpoint(run)
    run.go_on_after(int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if on_main():
        trainer.model.save_pretrained(str(run.path / ADAPTER))
    if held_out:
        write(AFTER)


def last_checkpoint(run: RunFolder) -> Path | None:
    """Return the newest complete checkpoint: the trainer writes its state last."""
    by_step = {
        int(path.parent.name.rpartition("-")[2]): path.parent
        for path in run.checkpoints.glob("checkpoint-*/trainer_state.json")
        if _is_whole(path)
    }
    return by_step[max(by_step)] if by_step else None


def _is_whole(state: Path) -> bool:
    try:
        json.loads(state.read_text("utf-8"))
    except ValueError:
        return False
    return True


def show_in(run: RunFolder, trainer: Any) -> None:
    """Have TRL's trainer log into the run and show a short progress bar."""
    from transformers import PrinterCallback, ProgressCallback

    class Shown(ProgressCallback):  # type: ignore[misc]  # no types are read
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            numbers = {
                name: float(value) for name, value in (logs or {}).items() if isinstance(value, int | float)
            }
            if self.training_bar is not None and numbers:
                run.log(state.global_step, numbers)
                postfix = {name: numbers[name] for name in ("loss", "reward") if name in numbers}
                self.training_bar.set_postfix(postfix)

    for kind in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(kind)
    trainer.add_callback(Shown())
