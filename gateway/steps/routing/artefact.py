"""A fitted search router on disk: which features, which coefficients, and from which drafts."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from chassis.calibration import LogisticCurve
from chassis.startup import WrongSettings
from chassis.validation import first_fault
from gateway.steps.routing.features import FEATURES


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Rows(_Kept):
    """One file of drafts that the curve was fitted on. `systems`: pipelines, versions."""

    file: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    drafts: int
    right: int
    conversations: int
    systems: list[str]
    judges: list[str]


class HeldOut(_Kept):
    """Of conversations that the curve had not seen, in shares. Of the drafts' own confidence: `own_…`.

    `aurc`: area under risk and coverage; `calibration_error`: expected, in ten bins.
    """

    aurc: float
    own_aurc: float
    calibration_error: float
    own_calibration_error: float


class RouterArtefact(_Kept):
    """`coefficients` by feature; of `constant` ones nothing could be learnt, and they weigh nothing.

    `format` rises when a feature is measured in another way, or the file changes its shape.
    """

    format: Literal[1]
    date: str
    intercept: FiniteFloat
    coefficients: dict[str, FiniteFloat]
    constant: list[str]
    fitted_on: list[Rows]
    held_out: HeldOut

    @model_validator(mode="after")
    def _same_features(self) -> Self:
        if tuple(self.coefficients) != FEATURES:
            raise ValueError("it was fitted on other features: export the drafts and train again")
        return self

    @property
    def curve(self) -> LogisticCurve:
        """P(the draft is right), for features in the order of `FEATURES`."""
        return LogisticCurve(self.intercept, tuple(self.coefficients.values()))

    @classmethod
    def load(cls, path: Path) -> "RouterArtefact":
        """Raises `WrongSettings`, in words for an operator."""
        name = f"The search router's file {path}"
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise WrongSettings(f"{name} cannot be read.") from error
        except ValidationError as error:
            raise WrongSettings(f"{name} cannot be used: {first_fault(error)}.") from None
