"""Open any data set: a folder like `samples`, one of your own, CRAG-MM's files or hub id, files of others."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from chassis.http.fetching import PublicFetcher
from chassis.picture_cache import PictureCache
from evaluation.data.crag_mm import Photos, fetch_photos, read_tables
from evaluation.data.folders import PLAIN, TRUTH, is_plain, read_plain, read_world
from evaluation.data.model import Conversation, Dataset, DatasetError, Part, Rejected, Target
from evaluation.data.progress import bar
from evaluation.data.rows import (
    BadRow,
    Candidates,
    UnreadableFile,
    identifier,
    photo_inside,
    sample,
    text,
)
from evaluation.data.squad import EVERYTHING, PREFIX, SquadChoice, read_squad
from evaluation.data.tables import Table, choose_split, fetch_split, hub_id, split_of, table_files
from evaluation.data.vqa import READERS, photos_by_name, read_vqa

CACHE = Path("var/datasets")
"""Where photos are kept unless told otherwise."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A dataset before its photos are looked for. `photos`: from how the chosen rows name their photos,
    return what finds one of them, or raises `BadRow`.
    """

    name: str
    rows: Candidates[Any]
    photos: Callable[[Sequence[Any]], Callable[[Any], Path]]


def open_dataset(
    source: str,
    *,
    part: Part | None = None,
    split: str | None = None,
    limit: int | None = None,
    seed: int | None = None,
    cache: Path | None = None,
    fetcher: PublicFetcher | None = None,
    squad: SquadChoice = EVERYTHING,
) -> Dataset:
    """Return the questions of `source`, and its rejected rows. Blocking.

    `source`: a folder like `samples`; a folder with photos and `questions.jsonl`; a Parquet file of CRAG-MM's
    rows, or a folder of them; a hub id, `owner/name` or `owner/name@revision`; `squad:FILE`, of which `squad`
    says more; or `infoseek:FILE`, `evqa:FILE`, `okvqa:FILE`.
    `limit` bounds the conversations of each part: the first ones, or with a seed a random choice; only their
    photos are fetched, by `fetcher`. `split`: `validation` where there are several and none is named.
    Raises `DatasetError` where there is nothing to ask.
    """
    try:
        if source.startswith(PREFIX) and source != PREFIX:
            dataset = read_squad(_one_turn_file(source, part, split), squad, limit, seed)
        elif squad != EVERYTHING and not source.startswith(PREFIX):
            raise DatasetError(f"Articles and a photo are chosen for {PREFIX}FILE only.")
        else:
            opened = _open(source, part, split, Photos(PictureCache(cache or CACHE, fetcher)))
            dataset = _choose(opened, part, limit, seed)
    except UnreadableFile as reason:
        raise DatasetError(f"{source} cannot be read. {reason}") from reason
    except OSError as error:
        raise DatasetError(
            f"{source} cannot be opened ({error.strerror or type(error).__name__})."
        ) from error
    if not dataset.conversations:
        raise DatasetError(_nothing(dataset, part))
    return dataset


def _choose(source: _Source, part: Part | None, limit: int | None, seed: int | None) -> Dataset:
    """Return the chosen conversations in their order, each with its photo."""
    rows = source.rows
    chosen = [
        each
        for one in (Part if part is None else (part,))
        for each in sample([row for row in rows.good if row.part is one], limit, seed)
    ]
    find = source.photos([each.photo for each in chosen])
    conversations = list[Conversation]()
    for each in bar(chosen, "photos"):
        with rows.rejecting(*each.places):
            conversations.append(Conversation(each.session_id, each.part, find(each.photo), each.turns))
    return Dataset(source.name, tuple(conversations), tuple(rows.rejected))


def _one_turn_file(source: str, part: Part | None, split: str | None) -> Path:
    path = Path(source.partition(":")[2]).expanduser()
    if split or part is Part.MULTI:
        raise DatasetError(f"{path} has neither splits nor conversations of several turns.")
    return path


def _open(source: str, part: Part | None, split: str | None, photos: Photos) -> _Source:
    kind, _, file = source.partition(":")
    if file and kind in READERS:
        path = _one_turn_file(source, part, split)
        return _Source(f"{kind}/{path.stem}", read_vqa(kind, path), partial(photos_by_name, path))
    path = Path(source).expanduser()
    if split and (path / split).is_dir():
        path, split = path / split, None
    if path.is_file():
        return _of_file(path, split, photos)
    if path.is_dir():
        return _of_folder(path, split, photos)
    hosted = hub_id(source)
    if hosted is None:
        raise DatasetError(f"{source} is neither a file nor a folder nor a hub id (owner/name).")
    repository, revision = hosted
    chosen, folder, files = fetch_split(repository, revision, split)
    name = repository.partition("/")[2] + (f"@{revision}" if revision else "")
    return _of_tables(f"{name}/{chosen}", folder, files, photos)


def _of_file(path: Path, split: str | None, photos: Photos) -> _Source:
    if path.suffix.lower() == ".jsonl" and is_plain(path):
        return _with_photos_inside(path.parent, read_plain(path))
    if path.suffix.lower() != ".parquet":
        raise DatasetError(f"{path} is neither a Parquet file of CRAG-MM's rows nor JSONL of questions.")
    chosen = choose_split([split_of(str(path))], split, str(path))
    return _of_tables(f"{path.resolve().parent.name}/{chosen}", path.parent, [path], photos)


def _of_folder(folder: Path, split: str | None, photos: Photos) -> _Source:
    if (folder / TRUTH).is_file() or ((folder / PLAIN).is_file() and is_plain(folder / PLAIN)):
        if split:
            raise DatasetError(f"{folder} has no split {split!r}: it has no splits.")
        rows = read_world(folder) if (folder / TRUTH).is_file() else read_plain(folder / PLAIN)
        return _with_photos_inside(folder, rows)
    files = table_files(folder)
    if not files:
        raise DatasetError(
            f"{folder} holds nothing to ask: looked for {TRUTH} (a folder like samples), for {PLAIN} with"
            " photo and question (a folder of your own), and for Parquet files (CRAG-MM)."
        )
    chosen = choose_split(sorted({split_of(str(file)) for file in files}), split, str(folder))
    of_split = [file for file in files if split_of(str(file)) == chosen]
    return _of_tables(f"{folder.resolve().name}/{chosen}", folder, of_split, photos)


def _with_photos_inside(folder: Path, rows: Candidates[str]) -> _Source:
    return _Source(folder.resolve().name, rows, lambda _: cache(partial(photo_inside, folder)))


def _of_tables(name: str, folder: Path, files: Sequence[Path], photos: Photos) -> _Source:
    return _Source(name, read_tables(folder, name, files), partial(fetch_photos, photos=photos))


def _nothing(dataset: Dataset, part: Part | None) -> str:
    if not dataset.rejected:
        return f"{dataset.name} holds no {f'{part}-turn ' if part else ''}conversations."
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(dataset.rejections).most_common())
    first = dataset.rejected[0]
    return f"Nothing of {dataset.name} can be asked ({counts}). The first: {first.where}: {first.why}"


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
    hosted = hub_id(source)
    files = table_files(path) if path.is_dir() else fetch_split(*hosted, SPLIT)[2] if hosted else []
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
