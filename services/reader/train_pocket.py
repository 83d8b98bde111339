"""Fit the pocket reader: `python -m services.reader.train_pocket --squad FILE --sentences FILE`.

Open prose is fitted on a SQuAD 2.0 file (Rajpurkar et al. 2018), how rare a word is on a file of sentences
with questions (Du et al. 2017's: question, tab, sentence), and all else on the rows in `training/`, which
were written for this project: pages about a known thing, its attributes, and print. Prints what each fold
gets on the articles, things or texts that it was not fitted on, then fits on all and writes the weights.
Needs scikit-learn (the dependency group `dev`); serving does not. About four minutes.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from chassis.calibration import LogisticCurve
from language.names import mentions
from language.reference import named, pointer
from language.words import tokens
from services.reader.engine import Passage, PassageKind, Query
from services.reader.engines import printed, prose, records
from services.reader.engines.features import (
    SentenceFeatures,
    likely_places,
    passage_features,
    sentence_features,
    span_features,
    values,
    whole_coverages,
)
from services.reader.engines.pocket import ABOUT, LAYOUT, OPEN, WEIGHTS, about_print, question_about
from services.reader.engines.ranking import Piece, likeliest
from services.reader.engines.terms import FREQUENCIES, Rarity, WeightedQuestion
from services.reader.engines.texts import Candidate, Prepared, Sentence, prepare
from services.reader.spoken import said

Matrix = NDArray[np.float64]
TRAINING = Path(__file__).with_name("training")
_PARAGRAPHS = 5
"""Read for each question, as search would bring them."""
_LEAST_COUNT = 3
"""A rarer stem is as rare as one never seen."""
_FOLDS = 8
_OTHER_PAGES = 3
"""Of other things, beside a scene's own pages, as search would bring them."""
_SEED = 13
_PENALTY = {
    "sentence": 1.0,
    "span": 0.2,
    "answer": 0.03,
    "record": 1.0,
    "record_answer": 0.3,
    "print": 1.0,
    "print_answer": 0.3,
}
"""Inverse strength of the ridge penalty, on standardised features: smaller where rows are fewer."""


@dataclass(frozen=True, slots=True)
class Read:
    """A question's rows. `sentences`: (place, features, holds the answer); `spans`: of the one that does."""

    asked: WeightedQuestion
    group: str
    golds: tuple[str, ...]
    prepared: Prepared
    sentences: tuple[tuple[int, tuple[float, ...], bool], ...]
    spans: tuple[tuple[tuple[float, ...], bool], ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A proposal: its vector, whether what would be said is right, and in how many words it is said."""

    vector: tuple[float, ...]
    right: bool
    words: int


def main() -> None:
    """Count, fit, show and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--squad", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    count_stems(arguments.sentences)
    rarity = Rarity.load()
    curves: dict[str, LogisticCurve] = {}
    for fitted in (
        fit_prose(OPEN, list(_reads(arguments.squad, rarity))),
        fit_prose(ABOUT, list(_reads_of_scenes(rarity))),
        fit_rows("record", [*written("records.jsonl"), *scene_rows()], rarity, _record_pieces),
        fit_rows("print", written("signs.jsonl"), rarity, _printed_pieces),
    ):
        curves |= fitted
    stored = {
        name: {
            "intercept": round(curves[name].intercept, 4),
            "coefficients": dict(zip(names, (round(c, 4) for c in curves[name].coefficients), strict=True)),
        }
        for name, names in LAYOUT.items()
    }
    arguments.output.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


def count_stems(path: Path) -> None:
    """How many sentences each stem stands in."""
    sentences = [line.partition("\t")[2] for line in path.read_text("utf-8").splitlines()]
    counts = Counter(stem for sentence in sentences for stem in {word.stem for word in tokens(sentence)})
    kept = {stem: count for stem, count in sorted(counts.items()) if count >= _LEAST_COUNT}
    text = json.dumps(
        {"sentences": len(sentences), "counts": kept}, ensure_ascii=False, separators=(",", ":")
    )
    FREQUENCIES.write_text(text + "\n", "utf-8")


def curve(vectors: Sequence[Sequence[float]], labels: Sequence[bool], penalty: float) -> LogisticCurve:
    """Ridge logistic regression on standardised features, its weights in the features' own units."""
    scaler = StandardScaler()
    scaled: Matrix = scaler.fit_transform(np.array(vectors))
    model = LogisticRegression(C=penalty, max_iter=400).fit(scaled, np.array(labels))
    weights = model.coef_[0] / scaler.scale_
    intercept = float(model.intercept_[0] - weights @ scaler.mean_)
    return LogisticCurve(intercept, tuple(float(weight) for weight in weights))


def fit_prose(name: str, reads: Sequence[Read]) -> dict[str, LogisticCurve]:
    """The curves of sentences, spans and answers; prints risk and coverage of what was left out."""
    held_out: list[tuple[float, Judged, bool]] = []
    for group in tqdm(dict.fromkeys(read.group for read in reads), desc="left out", unit="group"):
        fitted, judged = _fit_reads([read for read in reads if read.group != group])
        answer = _answer_curve(judged)
        for read in reads:
            if read.group == group:
                best = max(_proposals(fitted, read), key=lambda each: answer.logit(each.vector), default=None)
                if best is not None:
                    held_out.append((answer.probability(best.vector), best, bool(read.golds)))
    asked = [bool(read.golds) for read in reads]
    print(f"{name}, held out\n{risk_table(held_out, sum(asked), len(asked) - sum(asked))}")  # noqa: T201
    fitted, judged = _fit_reads(reads)
    return {
        f"{name}_sentence": fitted.sentences,
        f"{name}_span": fitted.spans,
        f"{name}_answer": _answer_curve(judged),
    }


def risk_table(found: Sequence[tuple[float, Judged, bool]], answerable: int, unanswerable: int) -> str:
    """Shares of the answerable said right and wrong, and of the unanswerable answered, by threshold."""
    lines = ["threshold  right %  wrong %  unanswerable answered %  median words"]
    for threshold in np.arange(0.2, 0.65, 0.05):
        given = [
            (each, is_answerable) for probability, each, is_answerable in found if probability >= threshold
        ]
        right = sum(each.right for each, is_answerable in given if is_answerable)
        wrong = sum(not each.right for each, is_answerable in given if is_answerable)
        fooled = sum(not is_answerable for _, is_answerable in given)
        words = np.median([each.words for each, _ in given]) if given else 0
        shares = (100 * right / answerable, 100 * wrong / answerable, 100 * fooled / max(1, unanswerable))
        lines.append("{:9.2f}  {:7.1f}  {:7.1f}  {:23.1f}  {:12.0f}".format(threshold, *shares, words))
    return "\n".join(lines)


def _reads(path: Path, rarity: Rarity) -> Iterator[Read]:
    """Every question with the sentences of the paragraphs that share most with it."""
    articles = json.loads(path.read_text("utf-8"))["data"]
    paragraphs = [
        (
            Passage(paragraph["context"], article["title"].replace("_", " ")),
            paragraph["qas"],
            article["title"],
        )
        for article in articles
        for paragraph in article["paragraphs"]
    ]
    prepared = [prepare([passage]) for passage, _, _ in paragraphs]
    everything = Prepared((), tuple(each.wholes[0] for each in prepared), ())
    questions = [(place, qa) for place, (_, qas, _) in enumerate(paragraphs) for qa in qas]
    for place, qa in tqdm(questions, desc="questions", unit="question"):
        asked = WeightedQuestion(qa["question"], rarity)
        coverages = whole_coverages(asked, everything)
        likely = sorted(range(len(paragraphs)), key=lambda other: -coverages[other])[:_PARAGRAPHS]
        both = prepare([paragraphs[each][0] for each in likely])
        golds = [] if qa["is_impossible"] else qa["answers"]
        own = likely.index(place) if place in likely else -1
        yield _measured(asked, both, own, golds, paragraphs[place][2])


def scene_rows() -> Iterator[dict[str, Any]]:
    """Each question of a scene as a row of the other files' form, with pages of other scenes beside."""
    scenes = written("scenes.jsonl")
    rng = random.Random(_SEED)
    for number, scene in enumerate(scenes):
        # Of its own fold only: what is held out must not have been seen as another's page.
        beside = [other for other in scenes[number % _FOLDS :: _FOLDS] if other is not scene]
        others = [page for other in beside for page in other["passages"]]
        pages = [{**page, "kind": "page"} for page in (*scene["passages"], *rng.sample(others, _OTHER_PAGES))]
        for row in scene["questions"]:
            subject = _subject(row["question"], scene["subject"])
            yield {**row, "subject": subject, "passages": pages, "group": f"scenes {number % _FOLDS}"}


def _reads_of_scenes(rarity: Rarity) -> Iterator[Read]:
    """Questions about a thing whose name is known, with pages about it and about others."""
    for row in scene_rows():
        asked, both = _asked(row, rarity), prepare(_passages(row))
        golds = [
            (place, {"text": answer, "answer_start": page["text"].lower().find(answer.lower())})
            for place, page in enumerate(row["passages"])
            for answer in row["answers"]
            if answer.lower() in page["text"].lower()
        ]
        own = golds[0][0] if golds else -1
        yield _measured(asked, both, own, [gold for place, gold in golds if place == own], row["group"])


def _subject(question: str, thing: str) -> str | None:
    """What the gateway would say that the question is about: the thing, unless it names something else."""
    called = named(question)
    about = not called or pointer(question) is not None or any(mentions(thing, name) for name in called)
    return thing if about else None


def _measured(
    asked: WeightedQuestion, both: Prepared, own: int, golds: Sequence[dict[str, Any]], group: str
) -> Read:
    """The rows of one question, whose answer stands in passage `own` at the places of `golds`."""
    passages = passage_features(asked, both)
    rows: list[tuple[int, tuple[float, ...], bool]] = []
    spans: list[tuple[tuple[float, ...], bool]] = []
    for index in likely_places(asked, both, PassageKind.PAGE):
        sentence = both.sentences[index]
        holds = sentence.passage == own and _holds(sentence, golds)
        features = sentence_features(asked, sentence, passages[sentence.passage])
        rows.append((index, values(features), holds))
        if holds and not spans:
            spans = [
                (values(span_features(asked, sentence, each)), _is_gold(sentence, each, golds))
                for each in sentence.candidates
            ]
    texts = tuple(dict.fromkeys(gold["text"] for gold in golds))
    return Read(asked, group, texts, both, tuple(rows), tuple(spans))


def _holds(sentence: Sentence, golds: Sequence[dict[str, Any]]) -> bool:
    return any(sentence.start <= gold["answer_start"] < sentence.start + len(sentence.text) for gold in golds)


def _is_gold(sentence: Sentence, candidate: Candidate, golds: Sequence[dict[str, Any]]) -> bool:
    """Whether candidate and a gold answer overlap by more than half (F1 by characters)."""
    start = sentence.start + sentence.words[candidate.first].start
    end = sentence.start + sentence.words[candidate.last - 1].end
    for gold in golds:
        first, last = gold["answer_start"], gold["answer_start"] + len(gold["text"])
        if 2 * max(0, min(end, last) - max(start, first)) > 0.5 * ((end - start) + (last - first)):
            return True
    return False


def _fit_reads(reads: Sequence[Read]) -> tuple[prose.ProseReader, list[Judged]]:
    """Both rankers, and every proposal that they make for the same questions."""
    rng = random.Random(_SEED)
    rows = [(v, h) for read in reads if read.golds for _, v, h in read.sentences if h or rng.random() < 0.5]
    spans = [row for read in reads for row in read.spans]
    reader = prose.ProseReader(
        curve([v for v, _ in rows], [h for _, h in rows], _PENALTY["sentence"]),
        curve([v for v, _ in spans], [h for _, h in spans], _PENALTY["span"]),
    )
    return reader, [judged for read in reads for judged in _proposals(reader, read)]


def _answer_curve(judged: Sequence[Judged]) -> LogisticCurve:
    return curve([each.vector for each in judged], [each.right for each in judged], _PENALTY["answer"])


def _proposals(reader: prose.ProseReader, read: Read) -> list[Judged]:
    scored = [
        prose.Scored(
            reader.sentences.logit(vector), place, read.prepared.sentences[place], SentenceFeatures(*vector)
        )
        for place, vector, _ in read.sentences
    ]
    found = []
    for each in reader.best_of(read.asked, scored):
        text = said(each.sentence.between(*each.window))
        right = any(_plain(gold) in _plain(text) for gold in read.golds)
        found.append(Judged(each.vector, right, len(text.split())))
    return found


def _plain(text: str) -> str:
    return " ".join(word.folded for word in tokens(text))


Pieces = Callable[[dict[str, Any], Rarity], list[Piece]]
"""A row of training data -> what may answer in its passages."""


def written(name: str) -> list[dict[str, Any]]:
    """The rows of a file in `training/`."""
    return [json.loads(line) for line in (TRAINING / name).read_text("utf-8").splitlines()]


def fit_rows(
    kind: str, data: Sequence[dict[str, Any]], rarity: Rarity, pieces_of: Pieces
) -> dict[str, LogisticCurve]:
    """The ranking and the answering curve of one kind of passage; prints held-out figures by thing."""
    measured = [(row, pieces) for row in data if (pieces := pieces_of(row, rarity))]
    data, rows = [row for row, _ in measured], [pieces for _, pieces in measured]
    golds = [[_plain(answer) for answer in row["answers"]] for row in data]
    groups = [str(row["subject"] or row["passages"][0]["text"]) for row in data]
    found: list[tuple[float, Judged, bool]] = []
    everyone = list(range(len(data)))
    for seen, unseen in GroupKFold(_FOLDS).split(everyone, groups=groups):
        rank, answer = _fit_kind(kind, [rows[i] for i in seen], [golds[i] for i in seen])
        for index in unseen:
            best = max(
                _judged(rank, rows[index], golds[index]), key=lambda e: answer.logit(e.vector), default=None
            )
            if best is not None:
                found.append((answer.probability(best.vector), best, bool(golds[index])))
    print(f"{kind}, held out\n{risk_table(found, sum(map(bool, golds)), sum(not g for g in golds))}")  # noqa: T201
    rank, answer = _fit_kind(kind, rows, golds)
    return {kind: rank, f"{kind}_answer": answer}


def _fit_kind(
    kind: str, rows: Sequence[list[Piece]], golds: Sequence[list[str]]
) -> tuple[LogisticCurve, LogisticCurve]:
    answerable = [(each, gold) for pieces, gold in zip(rows, golds, strict=True) if gold for each in pieces]
    fits = [_fits(piece.text, gold) for piece, gold in answerable]
    rank = curve([piece.vector for piece, _ in answerable], fits, _PENALTY[kind])
    judged = [j for pieces, gold in zip(rows, golds, strict=True) for j in _judged(rank, pieces, gold)]
    answer = curve([j.vector for j in judged], [j.right for j in judged], _PENALTY[f"{kind}_answer"])
    return rank, answer


def _judged(rank: LogisticCurve, pieces: Sequence[Piece], golds: Sequence[str]) -> list[Judged]:
    best = likeliest(pieces, rank)
    return [Judged(each.vector, _fits(each.text, golds), len(each.text.split())) for each in best]


def _fits(text: str, golds: Sequence[str]) -> bool:
    """Whether the candidate holds an accepted answer or is the telling part of one."""
    plain = _plain(text)
    return any(
        gold in plain or (len(plain) > 3 and plain in gold and 2 * len(plain) >= len(gold)) for gold in golds
    )


def _asked(row: dict[str, Any], rarity: Rarity) -> WeightedQuestion:
    return WeightedQuestion(question_about(Query(row["question"], row["subject"])), rarity, row["subject"])


def _passages(row: dict[str, Any]) -> list[Passage]:
    return [
        Passage(
            each["text"], each["title"], PassageKind(each["kind"]), tuple(map(tuple, each.get("boxes", [])))
        )
        for each in row["passages"]
    ]


def _record_pieces(row: dict[str, Any], rarity: Rarity) -> list[Piece]:
    return list(records.record_pieces(_asked(row, rarity), prepare(_passages(row))))


def _printed_pieces(row: dict[str, Any], rarity: Rarity) -> list[Piece]:
    passages = _passages(row)
    asked = WeightedQuestion(about_print(row["question"]), rarity)
    return list(printed.printed_pieces(asked, prepare(passages), passages))


if __name__ == "__main__":
    main()
