"""SQuAD's files: articles cut into paragraphs, and questions that people wrote about each paragraph.

Versions 1.1 (Rajpurkar et al. 2016) and 2.0 (Rajpurkar, Jia and Liang 2018), where a question may have no
answer in its paragraph although it looks as if.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from evaluation.data.model import (
    AnswerType,
    AskedTurn,
    Conversation,
    Dataset,
    DatasetError,
    Part,
    Text,
    Truth,
)
from evaluation.data.rows import BadRow, Candidate, Candidates, identifier, photo_inside, sample, text

PREFIX = "squad:"
"""What a source begins with that names such a file."""
NO_ANSWER = "I don't know."
"""The gold answer of a question that has none, as CRAG-MM words it."""
_LONGEST_NAME = 100


class SquadChoice(BaseModel):
    """The choice of questions. `articles`: titles, only these (none: all) but those `left_out`.

    `unanswerable`: of a limit, how many questions have no answer (None: as they come). `photo`: sent with
    every question; None: the questions are asked without one.
    """

    model_config = ConfigDict(frozen=True)

    articles: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unanswerable: int | None = None
    photo: Path | None = None


EVERYTHING = SquadChoice()
"""Every question, without a photo; for datasets of another kind, too."""


def read_squad(path: Path, choice: SquadChoice, limit: int | None, seed: int | None) -> Dataset:
    """Return the chosen questions, each as its own conversation, and all paragraphs of the file as texts.

    All paragraphs, whichever articles are asked about: finding the right one is part of the task. `limit`:
    questions at most, the first ones or with a seed a random choice; they stay in the file's order.
    Raises `DatasetError`.
    """
    rows, texts = Candidates[Path | None](), list[Text]()
    counts = Counter[str]()
    for place, title, context, questions in _paragraphs(path, rows):
        counts[title] += 1
        names = (path.stem, title, str(counts[title]))
        url = "file:" + "/".join(quote(name[:_LONGEST_NAME], safe="") for name in names)
        texts.append(Text(url, title, context))
        for number, each in enumerate(questions):
            where = f"{place}.qas[{number}]"
            with rows.rejecting(where):
                turn = _question(_object(each), title)
                rows.add(Candidate(turn.interaction_id, Part.SINGLE, choice.photo, (turn,), (where,)))
    if not rows.good:
        return Dataset(path.name, (), tuple(rows.rejected))
    titles = list(dict.fromkeys(each.turns[0].domain for each in rows.good))
    wanted = set(match_titles(choice.articles, titles) or titles) - set(match_titles(choice.left_out, titles))
    if (photo := choice.photo) is not None:
        try:
            photo_inside(photo.parent, photo.name)
        except BadRow as fault:
            raise DatasetError(f"{photo} cannot be sent along. {fault.why}") from fault
    candidates = [each for each in rows.good if each.turns[0].domain in wanted]
    chosen = _sample(candidates, limit, choice.unanswerable, seed)
    conversations = (Conversation(each.session_id, each.part, each.photo, each.turns) for each in chosen)
    return Dataset(path.name, tuple(conversations), tuple(rows.rejected), tuple(texts))


def _articles(path: Path) -> list[Any]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DatasetError(f"{path} cannot be opened ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path} is not JSON in UTF-8.") from error
    articles = held.get("data") if isinstance(held, dict) else None
    if not isinstance(articles, list):
        raise DatasetError(f'{path} is not of SQuAD\'s format: it has no list "data" of articles.')
    return articles


def _paragraphs(path: Path, rows: Candidates[Path | None]) -> Iterator[tuple[str, str, str, list[Any]]]:
    """Yield the place of each paragraph, its article's title, its text and its questions."""
    for number, article in enumerate(_articles(path)):
        with rows.rejecting(f"data[{number}]"):
            title = text(_object(article), "title", if_empty="malformed_row").replace("_", " ").strip()
            for inside, paragraph in enumerate(_list(article, "paragraphs")):
                place = f"data[{number}].paragraphs[{inside}]"
                with rows.rejecting(place):
                    context = text(_object(paragraph), "context", if_empty="malformed_row")
                    yield place, title, context, _list(paragraph, "qas")


def _question(row: Mapping[str, Any], title: str) -> AskedTurn:
    interaction_id = identifier(row, "id")
    impossible = row.get("is_impossible", False)
    if not isinstance(impossible, bool):
        raise BadRow("malformed_row", "is_impossible is neither true nor false.")
    golds = _answers(row, "answers")
    if golds and impossible:
        raise BadRow("malformed_row", "The question is said to be impossible, and has an answer.")
    if not golds and not impossible:
        raise BadRow("empty_answer", "There is no answer, and the question is not said to be impossible.")
    plausible = _answers(row, "plausible_answers") if row.get("plausible_answers") is not None else ()
    truth = Truth(
        interaction_id=interaction_id,
        answer_type=AnswerType.UNANSWERABLE if impossible else AnswerType.SPAN,
        accepted=golds,
        must_not=plausible if impossible else (),
    )
    return AskedTurn(
        interaction_id=interaction_id,
        question=text(row, "question", if_empty="empty_question"),
        gold=golds[0] if golds else NO_ANSWER,
        domain=title,
        truth=truth,
    )


def _answers(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return each answer once, in order: several people often marked the same span."""
    texts = (text(_object(each), "text", if_empty="empty_answer") for each in _list(row, key))
    return tuple(dict.fromkeys(texts))


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadRow("malformed_row", "There is no JSON object here.")
    return value


def _list(row: Mapping[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    if not isinstance(value, list):
        raise BadRow("malformed_row", f"{key} is not a list.")
    return value


def match_titles(given: Sequence[str], titles: Sequence[str]) -> list[str]:
    """Return the named titles from a text separated by commas; a title can contain commas.

    Raises `DatasetError`, which names the titles that there are.
    """
    known = {_key(title): title for title in titles}
    names = []
    for each in given:
        rest = _key(each).replace(" ,", ",")
        while rest:
            key = max((key for key in known if f"{rest},".startswith(f"{key},")), key=len, default=None)
            if key is None:
                wrong = rest.split(",")[0]
                raise DatasetError(f"No article is called {wrong!r}. There are: {', '.join(titles)}.")
            names.append(known[key])
            rest = rest[len(key) :].lstrip(", ")
    return names


def _key(title: str) -> str:
    return " ".join(title.replace("_", " ").casefold().split())


def _sample(
    questions: Sequence[Candidate[Path | None]],
    limit: int | None,
    unanswerable: int | None,
    seed: int | None,
) -> list[Candidate[Path | None]]:
    if limit is None:
        if unanswerable is not None:
            raise DatasetError("How many unanswerable questions are asked can only be said of a limit.")
        return list(questions)
    if unanswerable is None:
        return list(sample(questions, limit, seed))
    if unanswerable > limit:
        raise DatasetError(f"Of {limit} questions {unanswerable} cannot be unanswerable.")
    chosen = set[str]()
    for answerable, count in ((True, limit - unanswerable), (False, unanswerable)):
        alike = [each for each in questions if each.turns[0].answerable is answerable]
        chosen |= {each.session_id for each in sample(alike, count, seed)}
    return [each for each in questions if each.session_id in chosen]
