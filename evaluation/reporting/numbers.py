"""report.json: every number of a report. Rates in 0..1, times in milliseconds, null where unknown."""

import json
import math
from dataclasses import asdict
from typing import Any

from evaluation.reporting.content import Pair, Report, ShownFailure, SystemReport
from evaluation.reporting.readings import MeasureName


def numbers(report: Report) -> str:
    """The report as one JSON object."""
    told = {
        "dataset": report.dataset,
        "made_at": report.made_at,
        "judge": report.judge,
        "protocol": report.protocol,
        "cut": report.cut,
        "baseline": report.baseline,
        "asked": report.asked,
        "questions": report.questions,
        "sessions": report.sessions,
        "rejected": dict(report.rejected),
        "remarks": list(report.remarks),
        "systems": [_system(system) for system in report.systems],
        "slices": [asdict(each) for each in report.slices],
        "pairs": [_pair(pair) for pair in report.pairs],
        "failures_of": report.studied,
        "failures_rule": report.rule,
        "failures": [_failure(shown) for shown in report.failures],
    }
    return json.dumps(_known(told), indent=1, allow_nan=False) + "\n"


def _system(system: SystemReport) -> dict[str, Any]:
    return {
        "name": system.name,
        "folder": system.folder,
        "run": system.header.model_dump(mode="json"),
        "questions": system.asked,
        "parts": {
            part.part: {
                "questions": part.questions,
                "sessions": part.sessions,
                **{
                    measure.value: asdict(part.estimates[measure])
                    for measure in MeasureName
                    if measure in part.estimates
                },
            }
            for part in system.parts
        },
        "failed_requests": dict(system.failed),
        "asked_again": system.asked_again,
        "judge_failures": dict(system.judge_failures),
        "degraded": dict(system.degraded),
        "refusals": asdict(system.refusals),
        "stages_ms": {times.stage: asdict(times) for times in system.stages},
        "refusal_curve": {
            "coverage": system.curve.coverage,
            "hallucination": system.curve.hallucination,
            "withheld_known": system.curve.withheld,
            "not_measured": system.curve.unmeasured,
            "aurc": system.curve.risk.aurc,
            "points": [asdict(point) for point in system.curve.risk.points],
        },
        "reliability": asdict(system.reliability),
        "spans": asdict(system.spans) if system.spans else None,
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "one": pair.one,
        "other": pair.other,
        "measure": MeasureName.TRUTHFULNESS.value,
        **asdict(pair.paired),
        "p_corrected": pair.corrected,
    }


def _failure(shown: ShownFailure) -> dict[str, Any]:
    """Questions and answers as they are: who reads the file decides how to show them."""
    record = shown.failure.record
    return {
        "lesson": shown.failure.lesson.value,
        "interaction_id": record.interaction_id,
        "session_id": record.session_id,
        "question": record.question,
        "gold": record.gold,
        "others_right": list(shown.failure.others_right),
        "replies": [
            {
                "system": reply.system,
                "verdict": reply.verdict,
                "why": reply.judgement.why,
                "answer": reply.record.answer.answer if reply.record.answer else None,
                "confidence": reply.record.answer.confidence if reply.record.answer else None,
                "refused_by": reply.record.trace.refused_by if reply.record.trace else None,
                "error": reply.record.error,
                "client_ms": reply.record.client_ms,
            }
            for reply in shown.replies
        ],
    }


def _known(value: Any) -> Any:
    """What JSON has no word for becomes null."""
    if isinstance(value, dict):
        return {key: _known(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_known(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
