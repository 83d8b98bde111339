"""Fit the pocket verifier's curve: `python -m services.verifier.train_pocket --squad FILE`.

FILE has the format of SQuAD 2.0 (Rajpurkar et al. 2018). Its answers with their paragraphs are supported; not
supported are the plausible answers of its unanswerable questions, other answers of the paragraph, and answers
in which a number or name was changed. The rows in `training/` were written for this project. Prints held-out
figures, then fits on all rows. Needs scikit-learn (the dependency group `dev`); serving does not. About two
minutes.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chassis.fitting import Problem, calibration_table, figures, held_out, write
from language.names import names
from language.quantities import quantities
from language.sentences import sentences
from services.verifier.engines.pocket import WEIGHTS, weakest, weigh
from services.verifier.engines.support import FALLING, Features

ANSWERS = Path(__file__).parent / "training" / "answers.jsonl"
_PENALTY = 1.0
_SEED = 7
_LONGEST_STATEMENT = 30
"""Words of a sentence that is taken as an answer itself."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Row:
    """An answer and whether its evidence supports it; `source`: kind of row; `group`: its article or text."""

    question: str
    entity: str | None
    evidence: Sequence[str]
    answer: str
    supported: bool
    source: str
    group: str


def written(path: Path) -> Iterator[Row]:
    """The rows written for this project: each line a question with answers that hold and that do not."""
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        for supported in (True, False):
            for answer in case["supported" if supported else "unsupported"]:
                evidence = case["evidence"]
                yield Row(
                    case["question"], case["entity"], evidence, answer, supported, "written", evidence[0]
                )


def squad(path: Path) -> Iterator[Row]:
    """Rows of a SQuAD file; the paragraph under its article's title is the evidence."""
    chance = random.Random(_SEED)
    articles = json.loads(path.read_text("utf-8"))["data"]
    named = {each["title"]: _names_in(each) for each in articles}
    for article in articles:
        others = sorted(set().union(*(found for title, found in named.items() if title != article["title"])))
        title = article["title"].replace("_", " ")
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                for answer, supported, source in _answers(asked, paragraph, others, chance):
                    evidence = [f"{title}\n{paragraph['context']}"]
                    yield Row(asked["question"], None, evidence, answer, supported, source, title)


def _names_in(article: dict[str, Any]) -> set[str]:
    return {name.text for paragraph in article["paragraphs"] for name in names(paragraph["context"])}


def _answers(
    asked: dict[str, Any], paragraph: dict[str, Any], others: Sequence[str], chance: random.Random
) -> Iterator[tuple[str, bool, str]]:
    """(answer, supported, source) of one question; `others`: names from other articles."""
    if asked["is_impossible"]:
        for plausible in asked.get("plausible_answers", [])[:1]:
            yield plausible["text"], False, "plausible"
        return
    context, gold = paragraph["context"], asked["answers"][0]
    yield gold["text"], True, "gold"
    holding = [each for each in sentences(context) if each.start <= gold["answer_start"] < each.end]
    if holding and len(holding[0].text.split()) <= _LONGEST_STATEMENT and chance.random() < 1 / 3:
        yield holding[0].text, True, "sentence"
    known = [answer["text"].lower() for answer in asked["answers"]]
    beside = [
        each["answers"][0]["text"]
        for each in paragraph["qas"]
        if each["answers"] and _kind(each["answers"][0]["text"]) == _kind(gold["text"])
    ]
    beside = [each for each in beside if not any(each.lower() in own or own in each.lower() for own in known)]
    if beside:
        yield chance.choice(beside), False, "other"
    changed = _changed(gold["text"], others, chance)
    if changed and changed.lower() not in context.lower() and chance.random() < 1 / 2:
        yield changed, False, "changed"


def _kind(answer: str) -> str:
    if quantities(answer) or _NUMBER.search(answer):
        return "number"
    return "name" if answer[:1].isupper() else "words"


def _changed(answer: str, others: Sequence[str], chance: random.Random) -> str:
    """The answer with another number, or another name; empty where it has neither."""
    number = _NUMBER.search(answer)
    if number:
        return f"{answer[: number.start()]}{int(number[0]) + chance.randint(1, 9)}{answer[number.end() :]}"
    return chance.choice(others) if answer[:1].isupper() and others else ""


def problem(rows: Sequence[Row]) -> Problem:
    """Features of each answer's weakest claim, with its label; no article parts between folds."""
    weighed = (weigh(row.question, row.answer, row.evidence, row.entity) for row in rows)
    return Problem(
        features=list(Features.__dataclass_fields__),
        falling=FALLING,
        vectors=np.array([weakest(supports, _plain_sum).vector() for supports in weighed]),
        labels=np.array([float(row.supported) for row in rows]),
        groups=[row.group for row in rows],
        penalty=_PENALTY,
    )


def _plain_sum(features: Features) -> float:
    """A stand-in for the probability that is not known before the fit."""
    named = zip(Features.__dataclass_fields__, features.vector(), strict=True)
    return sum(-value if name in FALLING else value for name, value in named)


def main() -> None:
    """Print held-out figures of every source, then fit on all rows and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--squad", type=Path, help="a SQuAD 2.0 file")
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    rows = list(written(arguments.answers)) + (list(squad(arguments.squad)) if arguments.squad else [])
    data = problem(rows)
    probability = held_out(data)
    sources = np.array([row.source for row in rows])
    own = sources == "written"
    lines = [
        f"{name}: {figures(data.labels[part], probability[part])}"
        for name, part in (("written", own), ("SQuAD", ~own))
        if part.any()
    ]
    lines += [
        f"  {name}: {(sources == name).sum()} rows, on average {probability[sources == name].mean():.3f}"
        for name in dict.fromkeys(sources)
    ]
    print("\n".join([*lines, calibration_table(data.labels, probability)]))  # noqa: T201
    write(data, arguments.output)


if __name__ == "__main__":
    main()
