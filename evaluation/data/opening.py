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
    Candidate,
    Candidates,
    Photo,
    UnreadableFile,
    identifier,
    photo_inside,
    sample,
    text,
)
from evaluation.data.squad import EVERYTHING, PREFIX, SQUAD, SquadChoice, read_squad
from evaluation.data.tables import Table, choose_split, fetch_split, hub_id, split_of, table_files
from evaluation.data.vqa import READERS, photos_by_name, read_vqa

CACHE = Path("var/datasets")
"""Where photos are kept unless told otherwise."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which conversations to ask."""

    part: Part | None
    limit: int | None
    seed: int | None
    squad: SquadChoice

    def among(self, rows: Candidates[Photo]) -> list[Candidate[Photo]]:
        chosen: list[Candidate[Photo]] = []
        for part in Part if self.part is None else (self.part,):
            of_part = [each for each in rows.good if each.part is part]
            chosen += sample(of_part, self.limit, self.seed)
        return chosen


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
    """Everything that can be asked of `source`, and every row that cannot. Blocking.

    `source`: a folder like `samples`; a folder with photos and `questions.jsonl`; a Parquet file of CRAG-MM's
    rows, or a folder of them; a hub id, `owner/name` or `owner/name@revision`; `squad:FILE`, of which `squad`
    says more; or `infoseek:FILE`, `evqa:FILE`, `okvqa:FILE`.
    `limit` bounds the conversations of each part: the first ones, or with a seed a random choice; only their
    photos are fetched, by `fetcher`. `split`: `validation` where there are several and none is named.
    Raises `DatasetError` where there is nothing to ask.
    """
    choice = _Choice(part, limit, seed, squad)
    photos = Photos(PictureCache(cache or CACHE, fetcher))
    try:
        dataset = _read(source, choice, split, photos)
    except UnreadableFile as reason:
        raise DatasetError(f"{source} cannot be read. {reason}") from reason
    except OSError as error:
        raise DatasetError(
            f"{source} cannot be opened ({error.strerror or type(error).__name__})."
        ) from error
    if not dataset.conversations:
        raise DatasetError(_nothing(dataset, part))
    return dataset


def _read(source: str, choice: _Choice, split: str | None, photos: Photos) -> Dataset:
    kind, _, file = source.partition(":")
    if choice.squad != EVERYTHING and kind != SQUAD:
        raise DatasetError(f"Articles and a photo are chosen for {PREFIX}FILE only.")
    if file and kind in (SQUAD, *READERS):
        path = Path(file).expanduser()
        if split or choice.part is Part.MULTI:
            raise DatasetError(f"{path} has neither splits nor conversations of several turns.")
        if kind == SQUAD:
            return read_squad(path, choice.squad, choice.limit, choice.seed)
        rows = read_vqa(kind, path)
        selection = choice.among(rows)
        find = photos_by_name(path, {each.photo for each in selection})
        return _with_photos(f"{kind}/{path.stem}", rows, selection, find)
    path = Path(source).expanduser()
    if split and (path / split).is_dir():
        path, split = path / split, None
    if path.is_file():
        return _of_file(path, choice, split, photos)
    if path.is_dir():
        return _of_folder(path, choice, split, photos)
    hosted = hub_id(source)
    if hosted is None:
        raise DatasetError(f"{source} is neither a file nor a folder nor a hub id (owner/name).")
    repository, revision = hosted
    chosen, folder, files = fetch_split(repository, revision, split)
    name = repository.partition("/")[2] + (f"@{revision}" if revision else "")
    return _of_tables(f"{name}/{chosen}", folder, files, choice, photos)


def _of_file(path: Path, choice: _Choice, split: str | None, photos: Photos) -> Dataset:
    if path.suffix.lower() == ".jsonl" and is_plain(path):
        return _with_photos_inside(path.parent, read_plain(path), choice)
    if path.suffix.lower() != ".parquet":
        raise DatasetError(f"{path} is neither a Parquet file of CRAG-MM's rows nor JSONL of questions.")
    chosen = choose_split([split_of(str(path))], split, str(path))
    return _of_tables(f"{path.resolve().parent.name}/{chosen}", path.parent, [path], choice, photos)


def _of_folder(folder: Path, choice: _Choice, split: str | None, photos: Photos) -> Dataset:
    if (folder / TRUTH).is_file() or ((folder / PLAIN).is_file() and is_plain(folder / PLAIN)):
        if split:
            raise DatasetError(f"{folder} has no split {split!r}: it has no splits.")
        rows = read_world(folder) if (folder / TRUTH).is_file() else read_plain(folder / PLAIN)
        return _with_photos_inside(folder, rows, choice)
    files = table_files(folder)
    if not files:
        raise DatasetError(
            f"{folder} holds nothing to ask: looked for {TRUTH} (a folder like samples), for {PLAIN} with"
            " photo and question (a folder of your own), and for Parquet files (CRAG-MM)."
        )
    chosen = choose_split(sorted({split_of(str(file)) for file in files}), split, str(folder))
    of_split = [file for file in files if split_of(str(file)) == chosen]
    return _of_tables(f"{folder.resolve().name}/{chosen}", folder, of_split, choice, photos)


def _with_photos_inside(folder: Path, rows: Candidates[str], choice: _Choice) -> Dataset:
    find = cache(partial(photo_inside, folder))
    return _with_photos(folder.resolve().name, rows, choice.among(rows), find)


def _of_tables(name: str, folder: Path, files: Sequence[Path], choice: _Choice, photos: Photos) -> Dataset:
    rows = read_tables(folder, name, files)
    chosen = choice.among(rows)
    return _with_photos(name, rows, chosen, fetch_photos([each.photo for each in chosen], photos))


def _with_photos(
    name: str,
    rows: Candidates[Photo],
    chosen: Sequence[Candidate[Photo]],
    find: Callable[[Photo], Path],
) -> Dataset:
    """Return the conversations in their order; `find` raises `BadRow` for rows without a photo."""
    conversations = list[Conversation]()
    for each in bar(chosen, "photos"):
        with rows.rejecting(*each.places):
            conversations.append(Conversation(each.session_id, each.part, find(each.photo), each.turns))
    return Dataset(name, tuple(conversations), tuple(rows.rejected))


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
