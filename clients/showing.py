"""Print answers on a terminal. Their text is untrusted and must not control the terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loreglass_client.models import Answer, Citation, Explanation, Verification

_EVIDENCE_CHARS = 240
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def show_answer(answer: Answer, console: Console) -> None:
    """Print the answer, its sources and a summary; after a refusal also the closest passage and advice."""
    console.print(plain(answer.answer, "bold"))
    for number, citation in enumerate(answer.citations, start=1):
        console.print(plain(f"  [{number}] {_source(citation, citation.snippet)}"))
    if answer.closest:
        sentence = answer.closest.sentence or answer.closest.snippet
        console.print(plain(f"  The closest I found: {_source(answer.closest, sentence)}"))
    if answer.advice:
        console.print(plain(f"  {answer.advice}"))
    facts = [
        f"route {answer.route.value}",
        "confidence not measured" if answer.confidence is None else f"confidence {answer.confidence:.2f}",
        f"{answer.timings_ms.get('total', 0):.0f} ms",
        f"session {answer.session_id}",
    ]
    if answer.abstained:
        facts.insert(0, f"refused: {answer.reason.value}")
    if answer.verification is Verification.UNVERIFIED:
        facts.append("not checked")
    if answer.degraded:
        facts.append("without " + ", ".join(answer.degraded))
    console.print(plain("  " + " · ".join(facts), "dim"))


def _source(citation: Citation, text: str) -> str:
    where = " · ".join(filter(None, (citation.title, citation.url)))
    return f"{where}: “{text.strip()}”"


def show_explanation(explanation: Explanation, console: Console) -> None:
    """Print the drafts, signals with their thresholds, notes and evidence."""
    for name, text in (("draft", explanation.draft), ("proposed", explanation.proposed)):
        if text is not None:
            console.print(plain(f"{name}: {text}"))
    numbers = Table("signal", "value", "threshold", title="Signals and thresholds")
    for name in dict.fromkeys([*explanation.signals, *explanation.thresholds]):
        values = (source.get(name) for source in (explanation.signals, explanation.thresholds))
        numbers.add_row(plain(name), *("" if value is None else f"{value:.3f}" for value in values))
    notes = Table("stage", "note", title="Notes")
    for note in explanation.notes:
        notes.add_row(plain(note.stage), plain(note.text))
    evidence = Table("score", "kind", "title", "text", title="Evidence")
    for item in explanation.evidence:
        excerpt = plain(item.text[:_EVIDENCE_CHARS])
        evidence.add_row(f"{item.score:.3f}", item.kind.value, plain(item.title), excerpt)
    for table in (numbers, notes, evidence):
        if table.row_count:
            console.print(table)


def plain(text: str, style: str = "") -> Text:
    """Return the text without interpreting markup; control characters are replaced."""
    return Text("".join(each if each.isprintable() or each == "\n" else _UNPRINTABLE for each in text), style)
