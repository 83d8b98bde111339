"""Texts that a user meets are in plain words: documentation, help, messages, metrics, dashboards, pages."""

import re
from pathlib import Path

from tests.deploy.compose_file import ROOT

TEXTS = (
    *("*.md", "docs/**/*.md", "*/README.md", "*/*/README.md"),
    *("gateway/page/*.html", "gateway/page/*.js", "gateway/routes/*.py", "gateway/serving/metrics.py"),
    *("chassis/telemetry/metrics.py", "clients/*.py", "corpus/*.py", "deploy/*.py", "deploy/operator.*"),
    *("deploy/grafana/dashboards/*.json", "deploy/prometheus/rules/*.yml"),
)
PLAIN = {
    "fooled": "answered although unanswerable",
    "pocket profile": "lite profile",
    "the wearer's words": "the question",
    "is no page": "Unsupported file type",
    "is no URL": "Not a URL",
    "is no JSONL": "is not a JSONL file",
    "hand it to": "This key is shown once",
    "event loop turns": "the app runs",
    "the door": "admission",
    "let in": "admitted",
    "there is no such field": "unknown field",
    "is not well": "a problem is found",
    "lead readers": "switch to",
    "saw it before": "previous",
    "strangers": "untrusted input",
    "goes on where it stopped": "continues",
    "wants somebody": "needs action",
    "is known of it": "From your index",
    "whoever": "the one that, or the passive",
    "of yours": "your",
    "without a word": "silently",
}
"""Wordings that readers did not understand, and plain ones."""


def texts() -> list[Path]:
    """Every text but those about the past."""
    results = {path for pattern in TEXTS for path in ROOT.glob(pattern)}
    past = {path for path in results if path.name == "CHANGELOG.md" or path.parent.name == "decisions"}
    return sorted(results - past)


def test_texts_are_plain() -> None:
    pattern = re.compile("|".join(rf"\b{each}\b" for each in PLAIN), re.IGNORECASE)
    matches = {path: pattern.findall(" ".join(path.read_text("utf-8").split())) for path in texts()}
    assert {str(path): banned for path, banned in matches.items() if banned} == {}
