"""CRAG-MM's rows as conversations: v0.1.2 (dicts of columns, label codes) and v0.1.1 (lists, words)."""

import hashlib
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from chassis.errors import LoreglassError
from chassis.images import ImageLimits, upright_rgb
from chassis.picture_cache import NotAPicture, PictureCache
from evaluation.data.model import AskedTurn, Part, Rejected
from evaluation.data.progress import bar, counter
from evaluation.data.rows import BadRow, Candidate, Candidates, UnreadableFile, identifier, text
from evaluation.data.tables import VOCABULARY, Labels, Table

MOST_TURNS = 100
EGOCENTRIC_SIZE = (960, 1280)
"""Width and height that the official code gives every egocentric photo, whatever its own shape."""
_KINDS = ("egocentric", "normal")


def parse_row(row: Mapping[str, Any], labels: Labels) -> tuple[str, tuple[AskedTurn, ...]]:
    """Return the session id and the turns. Raises `BadRow`."""
    session_id = identifier(row, "session_id")
    records = _records(row.get("turns"), "turns")
    golds = _golds(row.get("answers"))
    turns = tuple(_turn(record, golds, row.get("image_quality"), labels) for record in records)
    if not turns:
        raise BadRow("malformed_row", "There are no turns.")
    ids = [turn.interaction_id for turn in turns]
    if len(set(ids)) != len(ids):
        raise BadRow("repeated_interaction", "Two turns have one interaction id.")
    if set(ids) != golds.keys():
        raise BadRow("unmatched_answers", "An answer belongs to no turn.")
    return session_id, turns


def _url(row: Mapping[str, Any]) -> str:
    url = row.get("image_url")
    if url is None:
        return ""
    if not isinstance(url, str):
        raise BadRow("malformed_row", "image_url is not a text.")
    return url.strip()


def _turn(record: Mapping[str, Any], golds: Mapping[str, str], quality: object, labels: Labels) -> AskedTurn:
    """Parse a turn. `quality`: the row's, for datasets that have it for each photo and not for each turn."""
    interaction_id = identifier(record, "interaction_id")
    if interaction_id not in golds:
        raise BadRow("unmatched_answers", f"Turn {interaction_id} has no answer.")
    fields = {"image_quality": quality, **{key: value for key, value in record.items() if value is not None}}
    words: dict[str, Any] = {column: labels.word(column, fields.get(column)) for column in VOCABULARY}
    return AskedTurn(
        interaction_id=interaction_id,
        question=text(record, "query", if_empty="empty_question"),
        gold=golds[interaction_id],
        **words,
    )


def _golds(answers: object) -> dict[str, str]:
    golds: dict[str, str] = {}
    for record in _records(answers, "answers"):
        interaction_id = identifier(record, "interaction_id")
        if interaction_id in golds:
            raise BadRow("repeated_interaction", f"There are two answers to {interaction_id}.")
        golds[interaction_id] = text(record, "ans_full", if_empty="empty_answer")
    return golds


def _records(value: object, what: str) -> Sequence[Mapping[str, Any]]:
    """Return a list of dicts from either of the dataset's two shapes."""
    if isinstance(value, Mapping):
        value = _from_columns(value, what)
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise BadRow("malformed_row", f"{what} is neither a dict of columns nor a list of dicts.")
    if len(value) > MOST_TURNS:
        raise BadRow("malformed_row", f"{what} has more than {MOST_TURNS} entries.")
    return value


def _from_columns(columns: Mapping[str, Any], what: str) -> list[dict[str, Any]]:
    lists = {key: column for key, column in columns.items() if column is not None}
    if not all(isinstance(column, list) for column in lists.values()):
        raise BadRow("malformed_row", f"A column of {what} is not a list.")
    if len({len(column) for column in lists.values()}) != 1:
        raise BadRow("malformed_row", f"The columns of {what} differ in length.")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


@dataclass(frozen=True, slots=True)
class Image:
    """The photo of a row: in the file's `image` column, else at the URL, which may be empty."""

    table: Table
    number: int
    url: str


def read_tables(folder: Path, name: str, files: Iterable[Path]) -> Candidates[Image]:
    """Read all rows without their images. A file that cannot be read is one rejection.

    `name`: the dataset's, which may say which part it is.
    """
    rows = Candidates[Image]()
    for table in map(Table, files):
        file = table.path.relative_to(folder).as_posix()
        try:
            labels = table.labels()
            for number, row in bar(table.rows(), "rows"):
                place = f"{file}, row {number}"
                with rows.rejecting(place):
                    session_id, turns = parse_row(row, labels)
                    image = Image(table, number, _url(row))
                    kind = _KINDS[bool(image.url)]
                    turns = tuple(replace(turn, image_kind=kind) for turn in turns)
                    part = _part(file, name) or (Part.MULTI if len(turns) > 1 else Part.SINGLE)
                    rows.add(Candidate(session_id, part, image, turns, (place,)))
        except UnreadableFile as reason:
            rows.rejected.append(Rejected("unreadable_file", file, str(reason)))
    return rows


def _part(*names: str) -> Part | None:
    """Return the part from the names of file and dataset; also a multi-turn session can have one turn."""
    spelled = ((part, name) for name in names for part in Part)
    return next((p for p, name in spelled if f"{p}-turn" in name or f"{p}_turn" in name), None)


class Photos:
    """The photos of rows: from the files themselves, the cache, and the web."""

    def __init__(self, cache: PictureCache) -> None:
        self._cache = cache

    def store(self, image: object, size: tuple[int, int] | None = None) -> Path | None:
        """Return the photo in a row's `image`, bytes or `{bytes}`; None if there is none. Raises `BadRow`.

        `size`: width and height to resize it to, whatever its shape; done once for each photo.
        """
        data = image.get("bytes") if isinstance(image, Mapping) else image
        if not data:
            return None
        if not isinstance(data, bytes):
            raise BadRow("malformed_row", "image is not bytes.")
        try:
            if size is None:
                return self._cache.keep(data)
            name = f"{hashlib.sha256(data).hexdigest()} {size}"
            return self._cache.keep_as(name, partial(_resize, data, size))
        except (NotAPicture, LoreglassError) as reason:
            raise BadRow("unreadable_image", str(reason)) from reason

    def fetch(self, urls: Iterable[str]) -> Mapping[str, Path | str]:
        """Download the photos. Return each URL's path, or the reason why there is none. Raises `OSError`."""
        wanted = set(urls)
        with counter("photos", len(wanted)) as bar:
            return self._cache.fetch(wanted, bar.update)


def _resize(data: bytes, size: tuple[int, int]) -> bytes:
    """Return the upright picture in that size, or the bytes unchanged. Raises `LoreglassError`."""
    picture = upright_rgb(data, ImageLimits(), None)
    if picture.size == size:
        return data
    buffer = io.BytesIO()
    picture.resize(size).save(buffer, "JPEG", quality=95, subsampling=0)
    return buffer.getvalue()


def fetch_photos(images: Sequence[Image], photos: Photos) -> Callable[[Image], Path]:
    """Fetch the photos, and return what finds one of them; it raises `BadRow`. Raises `OSError`."""
    embedded: dict[Image, Path | BadRow] = {}
    by_table: defaultdict[Table, dict[int, Image]] = defaultdict(dict)
    for image in images:
        by_table[image.table][image.number] = image
    for table, inside in by_table.items():
        embedded |= _store_embedded(table, inside, photos)
    links = photos.fetch(image.url for image in images if image.url and image not in embedded)

    def find(image: Image) -> Path:
        photo = embedded.get(image) or links.get(image.url) or "There is neither an image nor an image_url."
        if isinstance(photo, BadRow):
            raise photo
        if isinstance(photo, str):
            raise BadRow("missing_image", photo)
        return photo

    return find


def _store_embedded(table: Table, images: Mapping[int, Image], photos: Photos) -> dict[Image, Path | BadRow]:
    """Return the photos of the file's `image` column, and faults where there is no URL to fetch instead."""
    results: dict[Image, Path | BadRow] = {}
    try:
        for number, data in bar(table.images(images), "images", len(images)):
            image = images[number]
            try:
                photo = photos.store(data, None if image.url else EGOCENTRIC_SIZE)
                results |= {image: photo} if photo else {}
            except BadRow as fault:
                results |= {} if image.url else {image: fault}
    except UnreadableFile as reason:
        unread = [image for image in images.values() if image not in results]
        results |= {image: BadRow("unreadable_image", str(reason)) for image in unread}
    return results
