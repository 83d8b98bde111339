"""Train the search router: `python -m gateway.steps.routing.train`.

Needs scikit-learn (the `train` dependency group); serving does not. The rows beside it are drafts that we
wrote, each with the branch it should take. Prints how the router does on drafts that it was not trained on,
beside the keyword rule that it replaced.
"""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from chassis.calibration import LogisticCurve
from chassis.fitting import Matrix, Problem, fit, report, write
from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.state import Draft, Query, Tool
from gateway.steps.routing.features import router_features
from gateway.steps.routing.router import DIRECT_WEIGHTS, FEATURES, VERIFY_WEIGHTS, SearchRouter
from gateway.thresholds import Thresholds, load_thresholds

ROWS = Path(__file__).parent / "training" / "drafts.jsonl"

_AGAINST_DIRECT = frozenset(
    {
        *("says_unknown", "names_gap", "asks_current", "asks_date", "asks_fact", "recalled"),
        *("speculates", "falls_back", "contradicts", "unsure"),
        *("wants_image_search", "wants_text_search", "identity_known"),
    }
)
_AGAINST_VERIFY = frozenset(
    {
        *("says_unknown", "names_gap", "asks_current", "speculates", "falls_back", "contradicts", "unsure"),
        *("wants_image_search", "recalled"),
    }
)
_PENALTY = 0.3
_FOLDS = 10
_UNCERTAIN = re.compile(
    r"\b(i (?:do not|don't) know|not sure|cannot|can't|unclear|unknown|probably|perhaps|maybe|might be"
    r"|appears? to|seems?|unable to)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, a draft of its answer, and the branch that this draft should take."""

    query: Query
    draft: Draft
    domain: Domain | None
    route: Route

    @property
    def vector(self) -> tuple[float, ...]:
        """Its features."""
        return router_features(self.query, self.draft, self.domain).vector()


def load(path: Path = ROWS) -> list[Labelled]:
    """One JSON object a line."""
    return [_labelled(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def _labelled(row: dict[str, Any]) -> Labelled:
    draft = Draft(
        object_label=row["object_label"],
        entity=row["entity"],
        reasoning=row["reasoning"],
        answer=row["answer"],
        confidence=row["confidence"],
        self_contained=row["self_contained"],
        tools=frozenset(Tool(tool) for tool in row["tools"]),
        sub_queries=(),
        quotes=tuple(row["quotes"]),
    )
    domain = Domain(row["domain"]) if row["domain"] else None
    return Labelled(Query(row["question"], None), draft, domain, Route(row["route"]))


def direct_problem(rows: Sequence[Labelled]) -> Problem:
    """Can photo and question alone answer this?"""
    return _problem(rows, Route.DIRECT, _AGAINST_DIRECT)


def verify_problem(rows: Sequence[Labelled]) -> Problem:
    """Of the drafts that are not given at once: is this one worth checking?"""
    return _problem([row for row in rows if row.route is not Route.DIRECT], Route.VERIFY, _AGAINST_VERIFY)


def _problem(rows: Sequence[Labelled], wanted: Route, falling: frozenset[str]) -> Problem:
    return Problem(
        features=FEATURES,
        falling=falling,
        vectors=np.array([row.vector for row in rows]),
        labels=np.array([float(row.route is wanted) for row in rows]),
        groups=[row.query.question for row in rows],
        penalty=_PENALTY,
    )


def held_out_routes(rows: Sequence[Labelled], thresholds: Thresholds) -> list[Route]:
    """The branch of each row by a router that has not seen its question."""
    routes: dict[int, Route] = {}
    questions = [row.query.question for row in rows]
    for seen, unseen in GroupKFold(_FOLDS).split(questions, groups=questions):
        known = [rows[index] for index in seen]
        router = SearchRouter(_curve(direct_problem(known)), _curve(verify_problem(known)))
        for index in unseen:
            row = rows[index]
            routes[int(index)] = router.choose(row.query, row.draft, row.domain, thresholds)
    return [routes[index] for index in range(len(rows))]


def _curve(problem: Problem) -> LogisticCurve:
    weights: Matrix = fit(problem, problem.vectors, problem.labels)
    return LogisticCurve(float(weights[0]), tuple(float(weight) for weight in weights[1:]))


def keyword_rule(draft: Draft, thresholds: Thresholds) -> Route:
    """What the router replaced: a list of words, the model's own flag and its confidence."""
    if draft.answer is None or _UNCERTAIN.search(draft.answer):
        return Route.RAG
    hesitant = _UNCERTAIN.search(draft.reasoning) is not None
    if draft.self_contained and not hesitant and draft.confidence >= thresholds.direct_confidence:
        return Route.DIRECT
    return Route.VERIFY


def figures(name: str, rows: Sequence[Labelled], routes: Sequence[Route]) -> str:
    """Accuracy, and the two mistakes that cost most: an answer given unchecked, and a search for nothing."""
    pairs = [(row.route, route) for row, route in zip(rows, routes, strict=True)]
    right = sum(wanted is got for wanted, got in pairs) / len(pairs)
    unchecked = sum(got is Route.DIRECT and wanted is not Route.DIRECT for wanted, got in pairs)
    needless = sum(wanted is Route.DIRECT and got is not Route.DIRECT for wanted, got in pairs)
    return f"{name}: accuracy {right:.3f}, wrongly direct {unchecked}, wrongly searched {needless}"


def main() -> None:
    """Print held-out figures, then train on all rows and write the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=ROWS)
    arguments = parser.parse_args()
    rows, thresholds = load(arguments.rows), load_thresholds()
    direct, verify = direct_problem(rows), verify_problem(rows)
    rule = [keyword_rule(row.draft, thresholds) for row in rows]
    held_out = held_out_routes(rows, thresholds)
    lines = [
        f"direct or not: {report(direct)}",
        f"verify or rag: {report(verify)}",
        f"three branches, {len(rows)} drafts",
        figures("router, held out", rows, held_out),
        figures("the rule it replaced", rows, rule),
    ]
    print("\n".join(lines))  # noqa: T201
    write(direct, DIRECT_WEIGHTS)
    write(verify, VERIFY_WEIGHTS)


if __name__ == "__main__":
    main()
