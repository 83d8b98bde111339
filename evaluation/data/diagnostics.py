"""CRAG-MM-Diagnostics (arXiv 2607.21155): the object that a question of CRAG-MM is about, as gold of stages.

Its rows, as the released code reads them: `id`, and in `metadata` the object's box in pixels of the photo
(`target_roi_bbox`, `image_size`), its name (`target_object_name`), the question with the name in place of the
photo (`textual_only_question`), and how the question refers to the object (`referring_expression_category`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.data import hub
from evaluation.data.checks import BadRow, identifier, text
from evaluation.data.model import Conversation, Dataset, DatasetError, Rejected, Target
from evaluation.data.tables import Table, UnreadableFile, table_files

SPLIT = "test"
_COLUMNS = ("id", "metadata")


def with_targets(dataset: Dataset, source: str) -> Dataset:
    """Return the dataset with the targets of its turns; bad rows join its rejected ones. Blocking.

    `source`: a Parquet file, a folder of them, or a hub id. A row belongs to the turn with its id, or to the
    only turn of the session with it. Raises `DatasetError` if no row belongs to any turn.
    """
    rows = list(_targets(source))
    targets = dict(row for row in rows if not isinstance(row, Rejected))
    rejected = tuple(row for row in rows if isinstance(row, Rejected))
    conversations = tuple(_join(each, targets) for each in dataset.conversations)
    if not any(turn.target for each in conversations for turn in each.turns):
        raise DatasetError(f"None of the {len(rows)} rows of {source} is about a question of {dataset.name}.")
    return replace(dataset, conversations=conversations, rejected=(*dataset.rejected, *rejected))


def _join(conversation: Conversation, targets: Mapping[str, Target]) -> Conversation:
    of_session = targets.get(conversation.session_id) if len(conversation.turns) == 1 else None
    turns = (
        replace(turn, target=targets.get(turn.interaction_id, of_session)) for turn in conversation.turns
    )
    return replace(conversation, turns=tuple(turns))


def _targets(source: str) -> Iterator[tuple[str, Target] | Rejected]:
    for path in _files(source):
        try:
            for number, row in Table(path).rows(_COLUMNS):
                try:
                    yield identifier(row, "id"), _target(row.get("metadata"))
                except BadRow as fault:
                    yield Rejected("malformed_target", f"{path.name}, row {number}", fault.why)
        except UnreadableFile as reason:
            raise DatasetError(f"{path} cannot be read. {reason}") from reason


def _files(source: str) -> list[Path]:
    path = Path(source).expanduser()
    if path.is_file():
        return [path]
    hosted = hub.hub_id(source)
    files = table_files(path) if path.is_dir() else hub.fetch_split(*hosted, SPLIT)[2] if hosted else []
    if not files:
        raise DatasetError(f"{source} is neither a Parquet file, nor a folder of them, nor a hub id.")
    return files


def _target(metadata: object) -> Target:
    if not isinstance(metadata, Mapping):
        raise BadRow("malformed_row", "metadata is not an object.")
    fields = {key: value for key, value in metadata.items() if value is not None}
    question, reference = "textual_only_question", "referring_expression_category"
    return Target(
        name=identifier(fields, "target_object_name"),
        box=_box(fields),
        question=text(fields, question, if_empty="malformed_row") if fields.get(question) else "",
        reference=identifier(fields, reference) if fields.get(reference) else "",
    )


def _box(fields: Mapping[str, Any]) -> tuple[float, float, float, float] | None:
    """Return the box in shares of width and height, which hold whatever the photo is resized to."""
    if "target_roi_bbox" not in fields:
        return None
    try:
        left, top, right, bottom = map(float, fields["target_roi_bbox"])
        width, height = map(float, fields["image_size"])
        box = left / width, top / height, right / width, bottom / height
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise BadRow("malformed_row", "target_roi_bbox and image_size are not numbers.") from error
    if not (0 <= box[0] < box[2] <= 1.01 and 0 <= box[1] < box[3] <= 1.01):  # boxes are rounded to pixels
        raise BadRow("malformed_row", "target_roi_bbox is not a part of the photo.")
    return box
