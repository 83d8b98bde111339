"""A small SQuAD file: two articles, three paragraphs, six questions."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

FERRY = (
    "The chain ferry at Harl was opened on 12 May 1881. It was designed by Edda Marr and carries forty "
    "people across the Senn in six minutes."
)
WINTER = (
    "In winter the ferry lies at Upper Harl, where the ice is thin. Its chain is replaced every nine years."
)
BELL = "The Bell of Orrin weighs 2.4 tonnes. It was cast in copper and tin by two brothers from Lisk."


def answered(name: str, question: str, *answers: str) -> dict[str, Any]:
    """A question with these golds, as several people marked them."""
    golds = [{"text": text, "answer_start": 0} for text in answers]
    return {"id": name, "question": question, "answers": golds, "is_impossible": False}


def impossible(name: str, question: str, plausible: str) -> dict[str, Any]:
    """A question that the paragraph does not answer, with what looks like an answer."""
    return {
        "id": name,
        "question": question,
        "answers": [],
        "plausible_answers": [{"text": plausible, "answer_start": 0}],
        "is_impossible": True,
    }


OPENED = answered("f1", "When was the ferry at Harl opened?", "12 May 1881", "May 1881", "12 May 1881")
DESIGNED = answered("f2", "Who designed the chain ferry?", "Edda Marr")
SUNK = impossible("f3", "When did the ferry at Harl sink?", "12 May 1881")
CHAIN = answered("f4", "How often is the chain replaced?", "every nine years", "nine years")
WEIGHT = answered("b1", "How heavy is the Bell of Orrin?", "2.4 tonnes")
SOLD = impossible("b2", "Who bought the Bell of Orrin?", "two brothers from Lisk")

ARTICLES: list[dict[str, Any]] = [
    {
        "title": "Harl,_on_the_Senn",
        "paragraphs": [
            {"context": FERRY, "qas": [OPENED, DESIGNED, SUNK]},
            {"context": WINTER, "qas": [CHAIN]},
        ],
    },
    {"title": "Bell_of_Orrin", "paragraphs": [{"context": BELL, "qas": [WEIGHT, SOLD]}]},
]


def articles() -> list[dict[str, Any]]:
    return deepcopy(ARTICLES)


def write_squad(path: Path, data: Any = None) -> Path:
    """The file; `data`: other articles than these."""
    path.write_text(json.dumps({"version": "v2.0", "data": ARTICLES if data is None else data}), "utf-8")
    return path
