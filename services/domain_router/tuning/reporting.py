"""What a training run has to say: lines for the terminal and a JSON file beside the checkpoint."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from services.domain_router.tuning.fitting import Fit, Recipe
from services.domain_router.tuning.measures import Measures
from services.domain_router.tuning.rows import Reading
from services.domain_router.tuning.splitting import Split

_MOST_NAMED = 20
_NAME_WIDTH = 28


@dataclass(frozen=True, slots=True)
class Report:
    """Of one run. `validation` chose the epoch and the temperature; `held_out` chose nothing."""

    base_model: str
    unfrozen: str
    recipe: Recipe
    reading: Reading
    split: Split
    fitted: Fit
    temperature: float
    validation: Measures
    held_out: Measures | None

    def as_json(self) -> dict[str, Any]:
        """Everything but the weights and the examples."""
        parts = {name: len(places) for name, places in asdict(self.split).items()}
        return {
            "base_model": self.base_model,
            "unfrozen": self.unfrozen,
            "recipe": asdict(self.recipe),
            "examples": {**parts, "without_photo": without_photo(self.reading)},
            "malformed": [asdict(each) for each in self.reading.malformed],
            "epochs": [asdict(epoch) for epoch in self.fitted.epochs],
            "best_epoch": self.fitted.best.number,
            "temperature": self.temperature,
            "validation": self.validation.as_json(),
            "held_out": self.held_out.as_json() if self.held_out else None,
        }


def without_photo(reading: Reading) -> int:
    """Examples that teach their question alone."""
    return sum(example.photo is None for example in reading.examples)


def reading_lines(reading: Reading) -> Iterator[str]:
    """What was read, and what was not."""
    yield f"{len(reading.examples)} questions, {without_photo(reading)} of them without a photo"
    if reading.malformed:
        yield f"{len(reading.malformed)} malformed rows left out:"
    yield from (f"  {each.place}: {each.problem}" for each in reading.malformed[:_MOST_NAMED])
    if len(reading.malformed) > _MOST_NAMED:
        yield f"  and {len(reading.malformed) - _MOST_NAMED} more, all in the JSON report"


def measure_lines(title: str, measures: Measures) -> Iterator[str]:
    """Totals, a line a class, and the confusion (rows: true, columns: predicted)."""
    yield (
        f"{title} ({measures.examples}): accuracy {measures.accuracy:.3f}, macro-F1 {measures.macro_f1:.3f},"
        f" log loss {measures.log_loss:.3f}"
    )
    yield f"  {'':{_NAME_WIDTH}} precision  recall      F1  support   confusion"
    for each, row in zip(measures.classes, measures.confusion, strict=True):
        yield (
            f"  {each.label:{_NAME_WIDTH}} {each.precision:9.3f} {each.recall:7.3f} {each.f1:7.3f}"
            f" {each.support:8d}   {' '.join(f'{count:3d}' for count in row)}"
        )
