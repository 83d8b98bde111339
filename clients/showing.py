"""Print answers on a terminal. Their text is untrusted and must not control the terminal."""

from rich.console import Console
from rich.text import Text

from loreglass_client.models import Answer, Citation, Explanation, Verification

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
    console.print(plain(explanation.model_dump_json(indent=2, exclude_defaults=True)), soft_wrap=True)


def plain(text: str, style: str = "") -> Text:
    """Return the text without interpreting markup; control characters are replaced."""
    return Text("".join(each if each.isprintable() or each == "\n" else _UNPRINTABLE for each in text), style)
