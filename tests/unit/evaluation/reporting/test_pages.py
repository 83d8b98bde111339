"""The report's page is well-formed, self-contained and safe against hostile text."""

import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from evaluation.commands.report import write_report
from evaluation.judging.text import APPROXIMATE
from evaluation.record import TurnRecord
from evaluation.reporting.formatting import Unit, clean, format_figure, short
from evaluation.scoring.protocols import Protocol, Scored
from loreglass_client.models import Note
from tests.unit.evaluation.reporting.generated import Generated, Skill, questions, run, written

HOSTILE = (
    "<script>alert('asked')</script><img src=x onerror=alert(1)> | a ](javascript:alert(2)) "
    "![x](http://bad.example/x) `code` **bold** _it_ # head\n\n# new heading\n| cell |\n--- "
    "www.bad.example https://bad.example a@bad.example "
    "$\\frac{1}{2}$ {{ 7 * 7 }} {% raw %} &lt;b&gt; \u202egnp.exe\u202c \x1b[31mred\x00 ]]> --> "
) + "long " * 3000


FORBIDDEN = {"script", "iframe", "object", "embed", "form", "link", "base", "b", "foreignobject", "image"}


class Elements(HTMLParser):
    """Tags, attributes and text of a page, and whether what was opened is closed in order."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def made(root: Path, *runs: Generated) -> Path:
    folders = [written(each, root / f"run-{place}") for place, each in enumerate(runs)]
    out, protocol = root / "report", Protocol.KDD_CUP_2025
    write_report(folders, out, judge="rules", protocol=protocol, cut=APPROXIMATE, made_at=0.0)
    return out


def page_of(report: Path) -> Elements:
    return Elements((report / "report.html").read_text(encoding="utf-8"))


def hostile(record: TurnRecord) -> TurnRecord:
    """The same turn with every word of it turned against the reader."""
    words: dict[str, Any] = dict.fromkeys(("question", "gold", "domain"), HOSTILE)
    answer, trace = record.answer, record.trace
    if answer is None or answer.explanation is None or trace is None:
        return record.model_copy(update=words)
    ill = {"text": HOSTILE, "title": HOSTILE, "url": f"javascript:{HOSTILE}"}
    explained = {
        "evidence": [each.model_copy(update=ill) for each in answer.explanation.evidence],
        "notes": [Note(stage=HOSTILE, text=HOSTILE)],
        "proposed": HOSTILE,
        "signals": {**answer.explanation.signals, HOSTILE: 0.5},
    }
    changes = {
        "answer": HOSTILE,
        "explanation": answer.explanation.model_copy(update=explained),
        "citations": [each.model_copy(update=ill | {"snippet": "<script>"}) for each in answer.citations],
        "timings_ms": {**answer.timings_ms, HOSTILE: 3.0},
    }
    words["answer"] = answer.model_copy(update=changes)
    return record.model_copy(update=words | {"trace": trace.model_copy(update={"refused_by": HOSTILE})})


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    every_question = questions(12)
    one, other = (run(Skill(name), every_question) for name in ("<b>one|$x$</b>\n", "other"))
    turned = [
        Generated(each.header.model_copy(update={"dataset": HOSTILE, "rejected": {HOSTILE: 2}}),
                  tuple(Scored(hostile(s.record), s.judgement) for s in each.scored))
        for each in (one, other)
    ]  # fmt: skip
    return made(tmp_path_factory.mktemp("attacked"), *turned)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plain")
    Image.new("RGB", (900, 1200), "#306090").save(root / "photo.jpg")
    every_question = questions(40, photo=str(root / "photo.jpg"))
    return made(
        root, *(run(Skill(name, right), every_question) for name, right in (("one", 0.3), ("other", 0.6)))
    )


@pytest.mark.parametrize("which", ["attacked", "plain"])
def test_page_is_well_formed_and_self_contained(which: str, request: pytest.FixtureRequest) -> None:
    page = page_of(request.getfixturevalue(which))
    assert page.wrong == []
    assert page.open == []
    assert not FORBIDDEN & {tag for tag, _ in page.tags}
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("href", "src", "xlink:href", "action", "data"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:image/jpeg;base64,")), (tag, target)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    references = {a["href"] for _, a in page.tags if a.get("href")}
    assert {f"#{name}" for name in ids} >= {r for r in references if r and not r.startswith("data:")}
    # Only the plain run has readable photos.
    assert ("img" in {tag for tag, _ in page.tags}) == (which == "plain")


def test_malicious_text_is_shown_as_text(attacked: Path) -> None:
    text = "".join(page_of(attacked).texts)
    assert "<script>alert('asked')</script>" in text
    assert "{{ 7 * 7 }} {% raw %}" in text
    assert "characters)" in text
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", text)


def test_equal_runs_give_byte_identical_reports(tmp_path: Path) -> None:
    every_question = questions(8)
    runs = [run(Skill("one"), every_question), run(Skill("other"), every_question)]
    first = made(tmp_path, *runs)
    pages = {path.name: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    folders = [tmp_path / "run-0", tmp_path / "run-1"]
    write_report(folders, first, judge="rules", protocol=Protocol.KDD_CUP_2025, cut=APPROXIMATE, made_at=0.0)
    assert {path.name: path.read_bytes() for path in first.rglob("*") if path.is_file()} == pages


def test_run_with_only_failed_requests_is_reported(tmp_path: Path) -> None:
    failed = {"answer": None, "trace": None, "error": "overloaded"}
    one_run = run(Skill("one"), questions(5))
    lost = tuple(Scored(each.record.model_copy(update=failed), each.judgement) for each in one_run.scored)
    report = made(tmp_path, Generated(one_run.header, lost))
    page = "".join(page_of(report).texts)
    assert f"overloaded {len(lost)}" in page
    assert f"one {len(lost)} of {len(lost)}" in page
    assert "No explanations" not in page
    assert "nobody to be compared with" in page
    assert "failed nothing that could be looked at" in page


@given(st.text(max_size=2_000))
def test_shown_text_is_bounded_without_invisible_characters(text: str) -> None:
    for letter in clean(text, 100) + short(text, 40):
        assert letter in "\u200c\u200d" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    assert len(clean(text, 50)) <= 50 + len("… (2,000 characters)")
    assert len(short(text, 50)) <= 50


def test_ordinary_text_is_unchanged() -> None:
    text = "Wer schrieb „Émile“? 谁写的? \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d🚀"
    assert clean(text) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.3456, Unit.SHARE, "34.6 %"),
        (-0.0501, Unit.SCORE, "−0.050"),
        (-0.0001, Unit.SCORE, "0.000"),
        (0.25, Unit.SCORE, "+0.250"),
        (340.4, Unit.MILLISECONDS, "340 ms"),
        (1234.0, Unit.MILLISECONDS, "1.23 s"),
        (float("nan"), Unit.SHARE, "–"),
    ],
)
def test_figures_are_written_with_their_units(value: float, unit: Unit, text: str) -> None:
    assert format_figure(value, unit) == text
