"""Settings of GRPO."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from training.config import LoraSettings, ModelSettings, RunSettings, Settings


class RewardWeights(Settings):
    """Wiki-PRF, equation 12: the answer's, the tool plan's and the filter's form. Defaults: appendix C.3.

    `tool_use`: of a plan with a call in it, ours: tool use can collapse where only the answer pays.
    """

    answer: float = Field(default=2.0, ge=0)
    tool_format: float = Field(default=1.0, ge=0)
    filter_format: float = Field(default=1.0, ge=0)
    tool_use: float = Field(default=0.0, ge=0)


class FrozenBase(Settings):
    """The model that captions and answers (section 3.2, equation 9); it is never trained.

    `url`: an OpenAI-compatible server with the base model, as `loreglass serve --model-url` takes it; without
    one the trained model itself with its LoRA switched off. `model`: its name there.
    """

    url: str = ""
    model: str = ""


class GrpoConfig(RunSettings):
    """Without KL, with a clipped ratio (equation 10). `batch_size`: completions a step, over all cards.

    `data`: folders that `loreglass train data --task question` wrote. `adapter`: a LoRA to go on from.
    `answer_by`: exact match with an accepted answer (equation 12), or the scorer of `eval`, which is the
    released one for InfoSeek, E-VQA and OK-VQA. `short_answers`: names, numbers and phrases, as those want.
    `rollout_s`: the longest that one question may take, all calls together. `write_at_once`: sequences in a
    batch when the model writes. `most_questions`: the first so many of the data are learnt from.
    `vllm_url`: of a vLLM server that writes (`training.grpo.served`); without one the trained model does, by
    transformers.
    """

    data: tuple[Path, ...] = ()
    model: ModelSettings
    adapter: Path | None = None
    lora: LoraSettings = LoraSettings()
    base: FrozenBase = FrozenBase()
    group: int = Field(default=8, ge=2)
    temperature: float = Field(default=0.7, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    clip: float = Field(default=0.2, gt=0)
    kl: float = Field(default=0.0, ge=0)
    rewards: RewardWeights = RewardWeights()
    answer_by: Literal["exact_match", "scorer"] = "exact_match"
    short_answers: bool = False
    rollout_s: float = Field(default=1800, gt=0)
    write_at_once: int = Field(default=16, ge=1)
    most_questions: int | None = Field(default=None, ge=1)
    vllm_url: str = ""

    @model_validator(mode="after")
    def _groups_fit(self) -> Self:
        if self.batch_size % self.group:
            raise ValueError(f"batch_size must be a multiple of group, {self.group}")
        return self
