"""Predictions of every shape, and the same as records of a run."""

from pathlib import Path
from typing import Any

from evaluation.data.model import Part
from evaluation.judging.model_judge import version_of
from evaluation.judging.verdicts import Judgement, Verdict, VerdictCache, key_of, verdict_file
from evaluation.record import TurnRecord
from evaluation.scoring.protocols import Scored, case_of
from tests.unit.evaluation.records import answered, turn_of

Prediction = dict[str, Any]

GOLD = "It has 312 pages."
REFUSAL = "I don't know."
WORDS = ("it", "has", "pages", "three", "hundred", "extraordinarily", "12345", "café", "—", "ﬁne", "Ⅳ")
SAID = (
    GOLD,
    "  it HAS 312 pages. ",
    "It has 200 pages.",
    "312",
    "",
    "   ",
    "I don't know",
    "i DON'T know who wrote it",
    "I don’t know.",
    "I dont know",
    "I do not know.",
    "I do, not know",
    "I don't  know",
    "I don't\nknow",
    "I don't \nknow",
    "I don't know.",
    "Do I know? I don't. Know it.",
    "İ don't know",
    "I don`t know",
    "I do n't know",
    "Sorry, I DON'T KNOW this car.",
    "We know that I don't know",
)
JUDGED = {
    "right": Judgement(Verdict.CORRECT, "made up"),
    "wrong": Judgement(Verdict.INCORRECT, "made up"),
    "failed": Judgement(Verdict.INCORRECT, "made up", failed=True),
    "missing": Judgement(Verdict.MISSING, "made up"),
}


def prediction(
    said: str | None,
    judge: str,
    session: str = "s",
    turn: int = 0,
    *,
    several: bool = False,
    gold: str = GOLD,
) -> Prediction:
    """One prediction; `several`: its session is a conversation of the multi-turn part."""
    place = {"session": session, "turn": turn, "several": several}
    return {"said": said, "judge": judge, "gold": gold, **place}


def conversation(*verdicts: Verdict, session: str = "s", client_ms: float = 100.0) -> list[Scored]:
    """A conversation with these verdicts, as people gave them."""
    return [
        Scored(
            turn_record("so", session=session, turn=turn, part=Part.MULTI, client_ms=client_ms),
            Judgement(verdict, ""),
            by_hand=True,
        )
        for turn, verdict in enumerate(verdicts)
    ]


def keep_verdict(
    folder: Path,
    judge: str,
    record: TurnRecord,
    verdict: Verdict = Verdict.CORRECT,
    version: str | None = None,
) -> None:
    """Keep a judge's verdict with a run; its rules are today's, or of that version."""
    case = case_of(record)
    with VerdictCache(verdict_file(folder, judge)) as cache:
        key = key_of(case, judge, version_of(judge) if version is None else version)
        cache.put(key, case, Judgement(verdict, "made up"))


def scored(prediction: Prediction) -> Scored:
    part = Part.MULTI if prediction["several"] else Part.SINGLE
    place = {name: prediction[name] for name in ("session", "turn", "gold")}
    return Scored(turn_record(prediction["said"], part=part, **place), JUDGED[prediction["judge"]])


def turn_record(text: str | None, *, session: str = "s", turn: int = 0, **changes: Any) -> TurnRecord:
    """Return the record of a turn with this answer. None means that the request failed."""
    answer = None if text is None else answered(text)
    fields = {"question": "how many pages has it?", "gold": GOLD, "client_ms": 12.5, **changes}
    return turn_of(f"{session}.{turn}", answer, session_id=session, turn=turn, **fields)
