"""Settings of supervised fine-tuning."""

from pathlib import Path

from pydantic import Field, field_validator

from training.config import LoraSettings, ModelSettings, RunSettings
from training.samples import CONVERSATIONS, Task


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
