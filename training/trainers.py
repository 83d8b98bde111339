"""What both of TRL's trainers are given: arguments, logs, checkpoints, and their share of the work."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from training.config import ModelSettings, RunSettings, WrongConfig
from training.runs import RunFolder

Item = TypeVar("Item")


def on_main() -> bool:
    """Whether this process is the one that writes and speaks."""
    return bool(_processes().is_main_process)


def shared_out(items: Sequence[Item]) -> Sequence[Item]:
    """This process's share of them."""
    state = _processes()
    return items[state.process_index :: state.num_processes]


def _processes() -> Any:
    """Those that train together."""
    from accelerate import PartialState

    return PartialState()


def arguments(config: RunSettings, model: ModelSettings, run: RunFolder, kind: Any, **more: Any) -> Any:
    """TRL's arguments of class `kind`. Raises `WrongConfig` where the batch cannot be cut so."""
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
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        per_device_train_batch_size=config.device_batch_size,
        gradient_accumulation_steps=accumulated(config),
        gradient_checkpointing=model.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        seed=config.seed,
        bf16=on_card and model.dtype == "bfloat16",
        use_cpu=not on_card,
        dataloader_pin_memory=on_card,
        save_strategy="steps",
        save_steps=config.checkpoint_every,
        save_total_limit=config.checkpoints,
        logging_steps=config.log_every,
        report_to=["tensorboard"],
        remove_unused_columns=False,
        **more,
    )


def accumulated(config: RunSettings) -> int:
    """Backward passes a step. Raises `WrongConfig` where these are no whole number."""
    processes = int(_processes().num_processes)
    passes, left = divmod(config.batch_size, config.device_batch_size * processes)
    if left:
        raise WrongConfig(
            f"batch_size, {config.batch_size}, must be a multiple of device_batch_size, "
            f"{config.device_batch_size}, times the processes that train, {processes}."
        )
    return passes


def last_checkpoint(run: RunFolder) -> Path | None:
    """The newest that was written to its end: the trainer's state is what it writes last."""
    found = {
        int(path.parent.name.rpartition("-")[2]): path.parent
        for path in run.checkpoints.glob("checkpoint-*/trainer_state.json")
        if _is_whole(path)
    }
    return found[max(found)] if found else None


def _is_whole(state: Path) -> bool:
    try:
        json.loads(state.read_text("utf-8"))
    except ValueError:
        return False
    return True


def show_in(run: RunFolder, trainer: Any) -> None:
    """Have TRL's trainer log into the run, and show the bar without every number."""
    from transformers import PrinterCallback, ProgressCallback

    class Shown(ProgressCallback):  # type: ignore[misc]  # no types are read
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            numbers = {
                name: float(value) for name, value in (logs or {}).items() if isinstance(value, int | float)
            }
            if self.training_bar is not None and numbers:
                run.log(state.global_step, numbers)
                shown = {name: numbers[name] for name in ("loss", "reward") if name in numbers}
                self.training_bar.set_postfix(shown)

    for kind in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(kind)
    trainer.add_callback(Shown())
