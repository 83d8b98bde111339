"""Generate seeded runs of imaginary systems for reports."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.data.model import AnswerType, Part, Truth
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.record import RunHeader, TurnRecord
from evaluation.scoring.protocols import Scored
from loreglass_client.models import (
    Citation,
    CitationKind,
    EvidenceSeen,
    Explanation,
    Note,
    Reason,
    Route,
    Trace,
)
from tests.unit.evaluation.records import answered, turn_of

_DOMAINS = ("book", "food", "plants and gardening", "shopping", "vehicle", "local")
_CATEGORIES = ("simple-recognition", "simple-knowledge", "multi-hop", "comparison", "reasoning")
_QUALITIES = ("normal", "low light", "blurred", "occluded")
_STAGES = (
    ("ocr", 120), ("domain_router", 12), ("image_search", 90), ("draft", 400), ("text_search", 15),
    ("reranker", 40), ("answer", 700), ("verifier", 8),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Skill:
    """How a made-up system does: shares of right and of refused answers, and its slowness."""

    name: str
    right: float = 0.4
    refused: float = 0.3
    slow: float = 1.0


@dataclass(frozen=True, slots=True)
class Generated:
    header: RunHeader
    scored: tuple[Scored, ...]


def questions(sessions: int, seed: int = 0, photo: str = "missing.jpg") -> list[TurnRecord]:
    """Unanswered records: two thirds single questions, one third conversations of two to five turns."""
    chance = random.Random(seed)
    asked: list[TurnRecord] = []
    for number in range(sessions):
        multi = number % 3 == 2
        domain = chance.choice(_DOMAINS)
        shared = {
            "session_id": f"s{number:05d}",
            "part": Part.MULTI if multi else Part.SINGLE,
            "photo": photo,
        }
        for turn in range(chance.randint(2, 5) if multi else 1):
            answerable = chance.random() >= 0.1
            labels = {
                "query_category": chance.choice(_CATEGORIES),
                "dynamism": chance.choice(("static", "slow-changing")),
                "image_quality": chance.choice(_QUALITIES),
            }
            truth = Truth(
                interaction_id=f"q{number:05d}-{turn}",
                answer_type=AnswerType.NAME if answerable else AnswerType.UNANSWERABLE,
                accepted=(f"Maker {turn} & Sons",) if answerable else (),
                needs=chance.choice(("photo", "web", "image_kb")),
            )
            gold = f"The maker of thing {number} is Maker {turn} & Sons." if answerable else "I don't know."
            words = {"question": f"Who makes thing {number}, as in turn {turn}?", "gold": gold}
            of_turn: dict[str, Any] = {**shared, **labels, **words, "domain": domain, "turn": turn}
            asked.append(turn_of(truth.interaction_id, None, truth=truth, error=None, **of_turn))
    return asked


def run(skill: Skill, records: Sequence[TurnRecord], seed: int = 0) -> Generated:
    chance = random.Random(f"{seed} {skill.name}")
    header = RunHeader(
        name=skill.name,
        dataset="made-up/validation",
        fingerprint="f1",
        pipeline=skill.name,
        explained=True,
        rejected={"missing_image": 3, "malformed_row": 1},
    )
    return Generated(header, tuple(_answered(skill, record, chance) for record in records))


def _answered(skill: Skill, record: TurnRecord, chance: random.Random) -> Scored:
    if chance.random() < 0.01:
        failed = record.model_copy(update={"error": "overloaded", "client_ms": 30.0})
        return Scored(failed, Judgement(Verdict.MISSING, "failed"))
    draw = chance.random()
    refuses = draw >= 1 - skill.refused
    right = draw < skill.right and record.answerable
    verdict = Verdict.MISSING if refuses else Verdict.CORRECT if right else Verdict.INCORRECT
    text = record.gold if right else f"It is made by Maker {chance.randint(6, 99)}."
    certain = min(1.0, max(0.0, chance.gauss(0.75 if right else 0.5, 0.18))) * (0.5 if refuses else 1.0)
    times = {stage: round(ms * skill.slow * chance.lognormvariate(0, 0.35), 2) for stage, ms in _STAGES}
    times["total"] = round(sum(times.values()), 2)
    trace = Trace(
        trace_id=f"trace-{record.interaction_id}",
        pipeline=skill.name,
        route=chance.choice(list(Route)),
        reason=Reason.MODEL_UNSURE if refuses else Reason.ANSWERED,
        deadline_ms=10_000,
        total_ms=times["total"],
        stages=[],
        refused_by="answer_confidence" if refuses else None,
    )
    kind = CitationKind.PHOTO if record.truth and record.truth.needs == "photo" else CitationKind.PAGE
    cited = Citation(title="A page", url="https://page.example/a", snippet=text, score=0.8, kind=kind)
    answer = answered(
        None if refuses else text,
        confidence=0.0 if refuses else round(certain, 4),
        route=trace.route,
        citations=[] if refuses else [cited],
        timings_ms=times,
        explanation=_explanation(record, text, certain),
    )
    done = record.model_copy(update={"answer": answer, "trace": trace, "client_ms": trace.total_ms + 3.0})
    return Scored(done, Judgement(verdict, "made up"))


def _explanation(record: TurnRecord, message: str, certain: float) -> Explanation:
    text = f"It has a long history. {message} {record.gold} There is more to it."
    seen = EvidenceSeen(text=text, title="A page", url="", kind=CitationKind.PAGE, score=0.81)
    return Explanation(
        proposed=message,
        signals={"answer_confidence": round(certain, 4), "support": 0.7, "token_min": 0.5},
        evidence=[seen],
        notes=[Note(stage="text_search", text=f"queries: maker of thing {record.interaction_id}")],
    )


def written(generated: Generated, folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(generated.header.model_dump_json(), encoding="utf-8")
    lines = (each.record.model_dump_json() for each in generated.scored)
    (folder / "turns.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder
