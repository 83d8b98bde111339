"""`loreglass index`: counts, named rejects, exit status."""

import errno
import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from chassis.errors import DependencyUnavailable
from corpus.cli import app, index
from corpus.ingest import IngestOptions, IngestReport
from corpus.manifests import Rejected


def run(report: IngestReport | Exception) -> tuple[int, str]:
    async def ingest(source: Path, url: str, options: IngestOptions) -> IngestReport:
        if isinstance(report, Exception):
            raise report
        options.started(3)
        options.progress(3)
        return report

    shown = io.StringIO()
    console = Console(file=shown, width=120)
    status = index(ingest, "pages", Path("pages.jsonl"), "http://a.example", IngestOptions(), console)
    return status, shown.getvalue()


def test_counts_and_rejected_lines_are_shown() -> None:
    rejected = (Rejected("line 7", 'The "url" [x] is missing.'),)
    status, shown = run(IngestReport(21, 43, 32, rejected, "pages-1", removed=65))
    assert status == 0
    assert 'line 7: The "url" [x] is missing.' in shown
    for figure in ["21", "43", "32", "65", "pages-1", "3/3"]:
        assert figure in shown


@pytest.mark.parametrize(("indexed", "unchanged", "status"), [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_exit_status_is_0_only_if_something_is_indexed(indexed: int, unchanged: int, status: int) -> None:
    assert run(IngestReport(indexed, 0, unchanged, (), None))[0] == status


def test_many_rejected_records_are_not_all_printed() -> None:
    rejected = tuple(Rejected(f"line {number}", "Bad.") for number in range(80))
    assert "and 30 more" in run(IngestReport(1, 0, 0, rejected, None))[1]


@pytest.mark.parametrize(
    ("failure", "lines"),
    [
        (
            DependencyUnavailable("text_search does not accept connections."),
            [
                "text_search does not accept connections.",
                "Is the platform running at http://a.example? Start it with: loreglass serve",
                "After `serve --service-port PORT`, set LOREGLASS_SERVICE_PORT=PORT here.",
                "Run the same command again: it continues where it stopped.",
            ],
        ),
        (OSError(errno.ENOSPC, "No space left", "var/[pictures]"), ["var/[pictures]: No space left."]),
    ],
    ids=["service", "disk"],
)
def test_failures_are_sentences_and_no_traceback(failure: Exception, lines: list[str]) -> None:
    status, shown = run(failure)
    assert status == 1
    assert all(line in shown for line in lines)
    assert "Traceback" not in shown


@pytest.mark.parametrize("command", ["images", "pages", "wiki-images", "wiki-pages"])
def test_missing_manifest_exits_1(command: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [command, str(tmp_path / "none.jsonl")])
    assert result.exit_code == 1
    assert "cannot be read" in result.output
