"""The cut-offs of the pipelines: one versioned file, read once, so that calibration can replace it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field

from chassis.startup import WrongSettings
from chassis.validation import Share, read_settings, read_toml

PACKAGED = Path(__file__).with_suffix(".toml")
VERSION = "version"


class Risk(StrEnum):
    """The balance between wrong answers and refusals. Figures: docs/quality.md."""

    CAREFUL = "careful"
    BALANCED = "balanced"
    EAGER = "eager"


RISKS: Mapping[Risk, Mapping[str, float]] = {
    Risk.CAREFUL: {"answer_confidence": 0.65, "supported": 0.70},
    Risk.BALANCED: {},
    Risk.EAGER: {"answer_confidence": 0.40, "supported": 0.50},
}
"""Changes to the packaged thresholds, which are those of `balanced`."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Probabilities in 0..1; `thresholds.toml` has each value and its source; `version` is that file's.

    `direct_confidence`: a draft less sure of itself is not answered at once. `direct_from`, `verify_from`:
    the search router's two probabilities from which its branch is taken.
    `same_thing`: an image hit is a candidate from here on. `decisive`: no crops are searched from here on.
    `tau_coarse`, `tau_fine`: the reranker's two cut-offs (QA-Dragon, section 3.6.2).
    `answer_confidence`: below it the reasoner's answer is "I don't know".
    `supported`, `judged`: below it the verifier, or the model judge, refuses an answer.
    `token_min`, `token_mean`: the white-box verifier's thresholds (QA-Dragon, section 4.3).
    `judge_token_min`, `judge_token_mean`: the same for the tokens of the model judge; 0 in older files.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    version: Annotated[int, Field(strict=True, ge=1)]
    direct_confidence: Share
    direct_from: Share
    verify_from: Share
    same_thing: Share
    decisive: Share
    tau_coarse: Share
    tau_fine: Share
    answer_confidence: Share
    supported: Share
    judged: Share
    token_min: Share
    token_mean: Share
    judge_token_min: Share = 0.0
    judge_token_mean: Share = 0.0

    @property
    def relevant(self) -> float:
        """Evidence is kept from here on (section 3.6.2)."""
        return self.tau_coarse * self.tau_fine

    def with_overrides(self, values: Mapping[str, float]) -> "Thresholds":
        """Return a copy with other values. Raises `ValueError`, which names the first invalid one."""
        values_in_force = asdict(self)
        for name in values:
            if name not in values_in_force or name == VERSION:
                raise ValueError(f"there is no threshold {name[:40]!r}")
        return read_settings(Thresholds, {**values_in_force, **values}, "They")


def load_thresholds(path: Path | None = None, risk: Risk = Risk.BALANCED) -> Thresholds:
    """Those of the file, or the packaged ones for a `risk`. Raises `WrongSettings` if it cannot be used."""
    source = path or PACKAGED
    name = f"The thresholds file {source}"
    content, values = read_toml(source, name), dict[str, object]()
    for key, value in content.items():  # its tables are for the reader, but no name may stand in two
        for entry, given in value.items() if isinstance(value, dict) else [(key, value)]:
            if entry in values:
                raise WrongSettings(f"{name} cannot be used: {entry} is given twice.")
            values[entry] = given
    loaded = read_settings(Thresholds, values, name)
    return loaded if path else loaded.with_overrides(RISKS[risk])


@dataclass(frozen=True, slots=True)
class RetrievalLimits:
    """The numbers of candidates, crops, hits and chunks, and of results that stay whatever their rank.

    `chunks_to_judge`: how many of the reranked chunks its second, costlier model reads (the cascade's K1).
    """

    image_hits: int = 5
    crops: int = 4
    text_hits: int = 10
    chunks_to_rerank: int = 60
    chunks_to_judge: int = 32
    chunks_to_keep: int = 12
    leading_facts: int = 16
    leading_chunks: int = 8


LITE_LIMITS = RetrievalLimits(
    text_hits=5, chunks_to_rerank=6, chunks_to_judge=6, chunks_to_keep=6, leading_chunks=5
)
"""Without a language model: the first five passages hold nearly all answers; each takes 30 ms of CPU."""
