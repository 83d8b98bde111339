"""Texts that a user meets are in plain words: documentation, help, messages, metrics, dashboards, pages."""

import re
from pathlib import Path

import pytest

from tests.deploy.compose_file import ROOT

TEXTS = (
    "*.md",
    "docs/**/*.md",  # the references hold the command's help, the API's fields and the settings
    "*/README.md",
    "*/*/README.md",
    "gateway/page/*.html",
    "gateway/page/*.js",
    "gateway/routes/*.py",
    "gateway/serving/metrics.py",
    "chassis/telemetry/metrics.py",
    "clients/*.py",
    "corpus/*.py",
    "deploy/*.py",
    "deploy/operator.*",
    "deploy/grafana/dashboards/*.json",
    "deploy/prometheus/rules/*.yml",
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


@pytest.mark.parametrize("path", texts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_text_is_plain(path: Path) -> None:
    text = " ".join(path.read_text("utf-8").split())
    banned = re.findall("|".join(rf"\b{each}\b" for each in PLAIN), text, re.IGNORECASE)
    assert {each: PLAIN[each] for each in PLAIN if each.lower() in map(str.lower, banned)} == {}
