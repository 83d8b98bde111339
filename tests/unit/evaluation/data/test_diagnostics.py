"""CRAG-MM-Diagnostics joined to CRAG-MM's rows, and recall of each stage by it."""

import math
from pathlib import Path
from typing import Any

import pytest

from evaluation.data.model import Dataset, DatasetError, Target
from evaluation.data.opening import open_dataset, with_targets
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.scoring.measures import measure
from evaluation.scoring.protocols import Protocol, Scored
from loreglass_client.models import Explanation, LookedAt, LookedAtKind, Note, SearchResult
from tests.unit.evaluation.data.benchmark import (
    METADATA,
    SINGLE_NAMES,
    columns,
    diagnostics,
    row,
    turn,
    write_parquet,
)
from tests.unit.evaluation.records import answered, turn_of

TARGET = Target(
    name="Salt Road",
    box=(0.1, 0.1, 0.6, 0.6),
    question="Who wrote Salt Road?",
    reference="not enough cue (ambiguous)",
)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    rows = [columns(row("a")), columns(row("b")), columns(row("c", turn("c.0"), turn("c.1")))]
    source = write_parquet(tmp_path / "data/validation.parquet", rows, SINGLE_NAMES)
    return open_dataset(str(source), cache=tmp_path / "cache")


def targets(dataset: Dataset) -> dict[str, Target | None]:
    return {turn.interaction_id: turn.target for each in dataset.conversations for turn in each.turns}


def test_diagnostic_row_matches_an_interaction_or_single_turn_session(
    tmp_path: Path, dataset: Dataset
) -> None:
    source = diagnostics(tmp_path, a=METADATA, b_0={**METADATA, "image_size": [200, 400]}, c=METADATA)
    assert targets(with_targets(dataset, source)) == {
        "a.0": TARGET,
        "b.0": TARGET.model_copy(update={"box": (0.05, 0.05, 0.3, 0.3)}),
        "c.0": None,
        "c.1": None,
    }


@pytest.mark.parametrize(
    "fault",
    [
        {"target_object_name": ""},
        {"image_size": [0, 0]},
        {"image_size": [10, 10]},
        {"target_roi_bbox": [math.nan, 0.0, 10.0, 100.0]},
    ],
)
def test_a_bad_row_is_counted_and_named(fault: dict[str, Any], tmp_path: Path, dataset: Dataset) -> None:
    for part, rows in (("1", {"a": METADATA}), ("2", {"b": {**METADATA, **fault}})):
        (tmp_path / "both" / part).mkdir(parents=True)
        diagnostics(tmp_path / "both" / part, **rows)
    joined = with_targets(dataset, str(tmp_path / "both"))
    assert joined.rejections == {"malformed_target": 1}
    assert targets(joined)["b.0"] is None


def test_rows_about_other_questions_are_refused(tmp_path: Path, dataset: Dataset) -> None:
    with pytest.raises(DatasetError, match="None of the 1 rows"):
        with_targets(dataset, diagnostics(tmp_path, x=METADATA))


def scored(target: Target | None = TARGET, **fields: Any) -> Scored:
    stages = dict.fromkeys(("cropper", "image_search", "query_rewrite"), 1.0)
    record = turn_of("1", answered("x", timings_ms=stages, **fields)).model_copy(update={"target": target})
    return Scored(record, Judgement(Verdict.CORRECT, "made up"))


def value(name: str, answer: Scored) -> float:
    return measure(name, Protocol.KDD_CUP_2025).of([answer])


def crop(*box: float, kind: LookedAtKind = LookedAtKind.CROP) -> LookedAt:
    return LookedAt(kind=kind, **dict(zip(("left", "top", "right", "bottom"), box, strict=True)))


def test_crops_are_compared_with_the_objects_box() -> None:
    there, elsewhere = crop(0.1, 0.1, 0.6, 0.4), crop(0.5, 0.5, 1, 1)
    assert value("box_recall@1", scored(looked_at=[there])) == 1
    assert value("box_recall@1", scored(looked_at=[elsewhere, there])) == 0
    assert value("box_recall@2", scored(looked_at=[elsewhere, there])) == 1
    assert value("box_recall@1", scored(looked_at=[crop(0.1, 0.1, 0.6, 0.6, kind=LookedAtKind.TEXT)])) == 0
    assert value("box_recall@1", scored(looked_at=[])) == 0


def test_image_recall_counts_images_rather_than_their_entities() -> None:
    def answer_with(*things: tuple[str, str]) -> Scored:
        results = [SearchResult(stage="image_search", title=name, url=url) for name, url in things]
        return scored(explanation=Explanation(found=results))

    one, other = "https://a.org/1", "https://a.org/2"
    of_one_image = answer_with(("Tin Lantern", one), ("Salt Roads", one), ("Other", other))
    assert value("image_recall@1", of_one_image) == 1
    assert value("image_recall@1", answer_with(("Tin Lantern", one), ("Salt Road", other))) == 0


def test_entity_and_query_are_compared_with_the_object() -> None:
    notes = (("query_rewrite", "salt road author"), ("verifier", TARGET.question))
    queries = [Note(stage=stage, text=text) for stage, text in notes]
    answer = scored(entity="Salt Roads", explanation=Explanation(notes=queries))
    assert value("identified", answer) == 1
    assert value("identified", scored(entity=None)) == 0
    assert value("query_overlap", answer) == 0.5


@pytest.mark.parametrize("name", ["box_recall@1", "image_recall@1", "identified", "query_overlap"])
def test_questions_without_a_target_have_no_value(name: str) -> None:
    assert math.isnan(value(name, scored(None, explanation=Explanation())))
