"""Fit the search router on drafts of runs: `python -m gateway.steps.routing.train ROWS… --out router.json`.

ROWS are files that `loreglass eval export-drafts` wrote. Fits P(the draft is right) by logistic regression
on the drafts' features (QA-Dragon, section 3.2), and prints risk and coverage on conversations that were held
out, beside those of the drafts' own confidence. Nothing is drawn at random. `--compare ARTEFACT` fits nothing
and shows how an earlier router does on ROWS. Needs scikit-learn (the `train` group); serving does not.
"""

import argparse
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chassis.calibration import LogisticCurve
from chassis.fitting import Matrix, Problem, fit, held_out
from chassis.startup import WrongSettings
from chassis.validation import first_fault
from gateway.steps.routing.artefact import HeldOut, RouterArtefact, Rows
from gateway.steps.routing.features import FALLING, FEATURES

FEWEST = 20
"""Right drafts, wrong ones and conversations that must be there: fewer say nothing about six features."""
COVERAGES = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
_PENALTY = 1.0
_BINS = 10


class NothingToFit(Exception):
    """Rows that no router can be fitted on; the message says why."""


class Row(BaseModel):
    """What of an exported draft is needed here."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    system: str
    conversation: str
    features: dict[str, float] = Field(description="those of `FEATURES`, and no others")
    judge: str
    right: bool


@dataclass(frozen=True, slots=True)
class Drafts:
    """The rows of several files, and what the artefact is to say of each file."""

    rows: tuple[Row, ...]
    files: tuple[Rows, ...]

    @property
    def vectors(self) -> Matrix:
        """(rows, features), in the order of `FEATURES`."""
        return np.array([[row.features[name] for name in FEATURES] for row in self.rows])

    @property
    def right(self) -> Matrix:
        """(rows,) of 0 and 1."""
        return np.array([float(row.right) for row in self.rows])

    @property
    def confidence(self) -> Matrix:
        """(rows,): the drafts' own."""
        return self.vectors[:, FEATURES.index("confidence")]


def read(paths: Sequence[Path]) -> Drafts:
    """The drafts of these files. Raises `NothingToFit` for a row that is none, or has other features."""
    rows, files = list[Row](), list[Rows]()
    for path in paths:
        content = path.read_bytes()
        found = [_row(line, f"{path}, line {place}") for place, line in enumerate(content.splitlines(), 1)]
        files.append(
            Rows(
                file=path.name,
                sha256=hashlib.sha256(content).hexdigest(),
                drafts=len(found),
                right=sum(row.right for row in found),
                conversations=len({row.conversation for row in found}),
                systems=sorted({row.system for row in found}),
                judges=sorted({row.judge for row in found}),
            )
        )
        rows += found
    return Drafts(tuple(rows), tuple(files))


def _row(line: bytes, where: str) -> Row:
    try:
        row = Row.model_validate_json(line)
    except ValidationError as error:
        raise NothingToFit(f"{where}: {first_fault(error)}.") from None
    if set(row.features) != set(FEATURES):
        raise NothingToFit(f"{where}: other features than this router's; ask and export again.")
    return row


def problem_of(drafts: Drafts) -> Problem:
    """Is the draft right? Conversations stay together. Raises `NothingToFit` for too few drafts."""
    right, groups = int(drafts.right.sum()), [row.conversation for row in drafts.rows]
    counts = {"right drafts": right, "wrong drafts": len(groups) - right, "conversations": len(set(groups))}
    for what, count in counts.items():
        if count < FEWEST:
            raise NothingToFit(f"There are {count} {what}; {FEWEST} are needed. Ask more questions.")
    return Problem(FEATURES, FALLING, drafts.vectors, drafts.right, groups, _PENALTY)


def artefact_of(drafts: Drafts, date: str) -> RouterArtefact:
    """The router that these drafts teach. Raises `NothingToFit`."""
    problem = problem_of(drafts)
    weights = [round(float(weight), 4) + 0.0 for weight in fit(problem, problem.vectors, problem.labels)]
    constant = [name for name, column in zip(FEATURES, problem.vectors.T, strict=True) if np.ptp(column) == 0]
    unseen, own = held_out(problem), drafts.confidence
    return RouterArtefact(
        format=1,
        date=date,
        intercept=weights[0],
        coefficients=dict(zip(FEATURES, weights[1:], strict=True)),
        constant=constant,
        fitted_on=list(drafts.files),
        held_out=HeldOut(
            aurc=round(aurc(problem.labels, unseen), 4),
            own_aurc=round(aurc(problem.labels, own), 4),
            calibration_error=round(calibration_error(problem.labels, unseen), 4),
            own_calibration_error=round(calibration_error(problem.labels, own), 4),
        ),
    )


def risks(right: Matrix, probability: Matrix) -> Matrix:
    """(rows,): the share of wrong drafts among the surest 1, 2, … of them; equals count as a mixture."""
    order = np.argsort(-probability, kind="stable")
    said, wrong = probability[order], 1.0 - right[order]
    for value in np.unique(said):
        wrong[said == value] = wrong[said == value].mean()
    return np.asarray(np.cumsum(wrong) / np.arange(1, len(wrong) + 1))


def aurc(right: Matrix, probability: Matrix) -> float:
    """The area under risk and coverage (Geifman, Uziel and El-Yaniv 2019), in 0..1; less is better."""
    return float(risks(right, probability).mean())


def calibration_error(right: Matrix, probability: Matrix) -> float:
    """Expected calibration error: mean gap between what was said and what came true, in ten bins."""
    bins = np.minimum((probability * _BINS).astype(int), _BINS - 1)
    gaps = [abs((right[bins == each] - probability[bins == each]).sum()) for each in range(_BINS)]
    return float(np.sum(gaps) / len(right))


def table(right: Matrix, named: dict[str, Matrix]) -> str:
    """Risk at some coverages, AURC and calibration error, a line for each of the probabilities (rows,)."""
    heads = "".join(f"{share:>8.0%}" for share in COVERAGES)
    lines = [f"risk at coverage {heads}    AURC  calibration error"]
    for name, probability in named.items():
        at = risks(right, probability)
        cells = "".join(f"{at[max(0, round(share * len(right)) - 1)]:8.3f}" for share in COVERAGES)
        ends = f"{aurc(right, probability):8.3f}{calibration_error(right, probability):8.3f}"
        lines.append(f"{name:16.16} {cells}{ends}")
    return "\n".join(lines)


def by_curve(drafts: Drafts, curve: LogisticCurve) -> Matrix:
    """(rows,): P(right) of each draft."""
    return np.array([curve.probability(vector) for vector in drafts.vectors])


def main() -> None:
    """Print risk and coverage; write the artefact, or compare one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", type=Path, nargs="+")
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--out", type=Path, help="the artefact to write")
    either.add_argument("--compare", type=Path, metavar="ARTEFACT", help="fit nothing: how this one does")
    parser.add_argument("--date", default="", help="of the runs, kept in the artefact")
    given = parser.parse_args()
    try:
        print(_run(given))  # noqa: T201
    except (NothingToFit, WrongSettings, OSError) as error:
        sys.exit(str(error))


def _run(given: argparse.Namespace) -> str:
    drafts = read(given.rows)
    said = [f"{len(drafts.rows)} drafts, {int(drafts.right.sum())} right"]
    if given.compare:
        curve = RouterArtefact.load(given.compare).curve
        columns = {"artefact": by_curve(drafts, curve), "own confidence": drafts.confidence}
        return "\n".join([*said, table(drafts.right, columns)])
    artefact = artefact_of(drafts, given.date)
    columns = {"fitted, held out": held_out(problem_of(drafts)), "own confidence": drafts.confidence}
    given.out.write_text(artefact.model_dump_json(indent=2) + "\n", "utf-8")
    weights = ", ".join(f"{name} {weight}" for name, weight in artefact.coefficients.items())
    said.append(f"intercept {artefact.intercept}, {weights}")
    said.append(f"the same in all drafts, so of no weight: {', '.join(artefact.constant) or 'none'}")
    return "\n".join([*said, table(drafts.right, columns), f"written: {given.out}"])


if __name__ == "__main__":
    main()
