"""Fit the pocket reranker's curve: `python -m services.reranker.train_pocket --squad FILE --sentences FILE`.

The first file has the format of SQuAD 2.0 (Rajpurkar et al. 2018): each answered question is asked of all
paragraphs of its article, of which one is relevant. The second has lines of a question, a tab and the
sentence that answers it (the split of Du et al. 2017); the sentences before and after it are irrelevant. The
rows in `training/` were written for this project. Prints figures on questions, articles and texts that a fold
has not seen, beside plain BM25, then fits on all rows. Needs scikit-learn (the dependency group `dev`);
serving does not. About five minutes.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chassis.fitting import Matrix, Problem, calibration_table, figures, held_out, write
from language.words import STOP_WORDS, stem, words
from services.reranker.engines.features import Features, ask, measure
from services.reranker.engines.pocket import WEIGHTS

TRIPLES = Path(__file__).parent / "training" / "triples.jsonl"
FALLING = frozenset[str]()
_PENALTY = 1.0
_EVERY = {"squad": 2, "sentences": 10}
"""Of a file's questions one in so many is taken, so that neither outweighs the other."""
_WRITTEN_COUNT = 10.0
"""How much a written row counts, so that all together count like an article of SQuAD."""
_BESIDE = 10
"""Sentences before and after the answering one in the second file."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with passages, of which those at `relevant` answer it; `group`: its article or thing."""

    question: str
    entity: str | None
    passages: Sequence[str]
    relevant: frozenset[int]
    source: str
    group: str


def written(path: Path) -> Iterator[Asked]:
    """The rows written for this project."""
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        passages = (*case["relevant"], *case["irrelevant"])
        relevant = frozenset(range(len(case["relevant"])))
        yield Asked(case["question"], case["entity"], passages, relevant, "written", passages[0])


def squad(path: Path) -> Iterator[Asked]:
    """The answered questions of a SQuAD file, over their articles' paragraphs under their title."""
    for article in json.loads(path.read_text("utf-8"))["data"]:
        title = article["title"].replace("_", " ")
        passages = [f"{title}\n{paragraph['context']}" for paragraph in article["paragraphs"]]
        asked = [
            Asked(each["question"], None, passages, frozenset({place}), "squad", title)
            for place, paragraph in enumerate(article["paragraphs"])
            for each in paragraph["qas"]
            if not each["is_impossible"]
        ]
        yield from asked[:: _EVERY["squad"]]


def beside(path: Path) -> Iterator[Asked]:
    """Questions with the sentence that answers them and those around it."""
    pairs = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    for place in range(0, len(pairs), _EVERY["sentences"]):
        question, answer = pairs[place]
        around = [each[1] for each in pairs[max(0, place - _BESIDE) : place + _BESIDE + 1]]
        passages = (answer, *sorted(set(around) - {answer}))
        yield Asked(question, None, passages, frozenset({0}), "sentences", f"lines {place // 500}")


def problem(asked: Sequence[Asked]) -> Problem:
    """One row a passage; a group never parts between folds."""
    vectors, labels, groups = [], [], []
    for each in asked:
        question = ask(each.question, each.entity)
        vectors += [measure(question, passage).vector() for passage in each.passages]
        labels += [float(place in each.relevant) for place in range(len(each.passages))]
        groups += [each.group] * len(each.passages)
    counting = [_WRITTEN_COUNT if each.source == "written" else 1.0 for each in asked for _ in each.passages]
    names = list(Features.__dataclass_fields__)
    return Problem(names, FALLING, np.array(vectors), np.array(labels), groups, _PENALTY, np.array(counting))


def bm25(question: str, passages: Sequence[str]) -> list[float]:
    """Robertson's scores with the usual k1 = 1.2 and b = 0.75, over stems."""
    counts = [Counter(stem(word) for word in words(text) if word not in STOP_WORDS) for text in passages]
    having = Counter(term for count in counts for term in count)
    mean = sum(count.total() for count in counts) / len(counts)
    terms = {stem(word) for word in words(question) if word not in STOP_WORDS}
    rarity = {term: math.log(1 + (len(counts) - having[term] + 0.5) / (having[term] + 0.5)) for term in terms}
    return [
        sum(
            rarity[term] * count[term] * 2.2 / (count[term] + 1.2 * (0.25 + 0.75 * count.total() / mean))
            for term in terms
        )
        for count in counts
    ]


def ranking(asked: Sequence[Asked], scores: Sequence[Sequence[float]]) -> str:
    """MRR, nDCG and how often the first is relevant; among equal scores a passage stands in the middle."""
    ranks = []
    for each, given in zip(asked, scores, strict=True):
        best = max(given[place] for place in each.relevant)
        others = [score for place, score in enumerate(given) if place not in each.relevant]
        ranks.append(1 + sum((score > best) + (score == best) / 2 for score in others))
    found = np.array(ranks)
    mrr, ndcg = np.mean(1 / found), np.mean(1 / np.log2(1 + found))
    return f"{len(found)} questions, MRR {mrr:.3f}, nDCG {ndcg:.3f}, first {np.mean(found < 2):.3f}"


def report(asked: Sequence[Asked], data: Problem, probability: Matrix) -> Iterator[str]:
    """Held-out figures of every source, of every article beside BM25, and the calibration."""
    ends = np.cumsum([len(each.passages) for each in asked])
    scores = [list(part) for part in np.split(probability, ends[:-1])]
    for source in dict.fromkeys(each.source for each in asked):
        mine = [place for place, each in enumerate(asked) if each.source == source]
        rows = np.concatenate(
            [np.arange(ends[place] - len(asked[place].passages), ends[place]) for place in mine]
        )
        yield f"{source}: {figures(data.labels[rows], probability[rows])}"
        articles = sorted({asked[place].group for place in mine}) if source == "squad" else []
        for group in (*articles, None):
            here = [place for place in mine if group in (None, asked[place].group)]
            questions = [asked[place] for place in here]
            name = group or "all"
            yield f"  {name}: {ranking(questions, [scores[place] for place in here])}"
            yield f"  {name}, BM25: {ranking(questions, [bm25(q.question, q.passages) for q in questions])}"
    yield calibration_table(data.labels, probability)


def main() -> None:
    """Print held-out figures, then fit on all rows and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--squad", type=Path, help="a SQuAD 2.0 file")
    parser.add_argument("--sentences", type=Path, help="lines of a question, a tab and its sentence")
    parser.add_argument("--triples", type=Path, default=TRIPLES)
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    asked = list(written(arguments.triples))
    asked += list(squad(arguments.squad)) if arguments.squad else []
    asked += list(beside(arguments.sentences)) if arguments.sentences else []
    data = problem(asked)
    print("\n".join(report(asked, data, held_out(data))))  # noqa: T201
    write(data, arguments.output)


if __name__ == "__main__":
    main()
