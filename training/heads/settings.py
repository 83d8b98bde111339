"""Settings of the heads. The papers train such heads and give no hyperparameters: all numbers are ours."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, RootModel

from training.config import Settings


class Recipe(Settings):
    """`patience`: epochs without a better score on the validation part until training stops.

    `validation`: share of the training part that chooses the epoch; nothing of it is learnt.
    """

    epochs: int = Field(ge=1)
    patience: int = Field(ge=1)
    batch_size: int = Field(default=32, ge=1)
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(default=1e-2, ge=0)
    validation: float = Field(default=0.15, gt=0, lt=1)
    seed: int = 20


class _Head(Settings):
    data: tuple[Path, ...] = ()


class _Blip2Head(_Head):
    """`model`: the base model, a folder or hub id; empty: the service's own default."""

    model: str = ""
    device: str = "auto"


class DomainRouterConfig(_Blip2Head):
    """A linear head on BLIP-2's Q-Former (QA-Dragon, section 3.1.1: fine-tuned on domain labels).

    `tune_qformer`: the Q-Former learns too, at `tuned_rate`; the vision tower never does.
    """

    head: Literal["domain-router"]
    tune_qformer: bool = False
    tuned_rate: float = Field(default=1e-5, gt=0)
    recipe: Recipe = Recipe(epochs=200, patience=20, learning_rate=1e-2)


class CoarseRerankerConfig(_Blip2Head):
    """A projection for BLIP-2's query tokens of question and photo, by InfoNCE (van den Oord et al. 2018).

    `temperature` divides the cosines (BLIP-2's begins at .07). `reached_by`: the share of the validation
    part's answering texts that the threshold lets through.
    """

    head: Literal["coarse-reranker"]
    temperature: float = Field(default=0.07, gt=0)
    reached_by: float = Field(default=0.95, gt=0, le=1)
    recipe: Recipe = Recipe(epochs=60, patience=10, learning_rate=1e-3)


class SearchRouterConfig(_Head):
    """P(the draft is right) from its features (QA-Dragon, section 3.2), by logistic regression.

    `date`: of the runs, kept in the artefact. `compare`: fit nothing, and show how this router does.
    """

    head: Literal["search-router"]
    date: str = ""
    penalty: float = Field(default=1.0, gt=0)
    compare: Path | None = None


class AnyHead(
    RootModel[
        Annotated[DomainRouterConfig | CoarseRerankerConfig | SearchRouterConfig, Field(discriminator="head")]
    ]
):
    """Settings of the head that `head` names."""
