"""What came back for a question, and where it breaks the contract."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from chassis.validation import first_fault
from contracts.answer import Answer, Citation, CitationKind, IdentifiedEvent, Reason, StageEvent, TokenEvent
from contracts.errors import Problem

_PROBLEM = "urn:loreglass:problem:"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, or the problem's kind; `trouble`: how it breaks the contract, in words, or nothing.

    `status` 0: nothing came. `retry_after`: whether the reply says when to come back.
    """

    status: int
    answer: Answer | None = None
    problem: str = ""
    retry_after: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known before: the conversation, if it goes on, and the words that only other photos bear.

    `nothing`: success has no body.
    """

    session_id: str | None = None
    strangers: frozenset[str] = frozenset()
    nothing: bool = False


def read_reply(status: int, headers: Mapping[str, str], content: bytes, expected: Expected) -> Reply:
    """A whole reply, streamed or not."""
    told = {name.lower(): value for name, value in headers.items()}
    kind = told.get("content-type", "").partition(";")[0].strip()
    if status == 0:
        return Reply(0)
    if expected.nothing and status == 204:
        return Reply(204)
    if status != 200:
        return _refusal(status, kind, "retry-after" in told, content)
    if kind == "text/event-stream":
        return _streamed(content, expected)
    if kind != "application/json":
        return Reply(200, trouble=f"The reply is {kind or 'of no type'}, not application/json.")
    try:
        return _answered(Answer.model_validate_json(content), expected)
    except ValidationError as error:
        return Reply(200, trouble=f"The body is no answer: {first_fault(error)}.")


def _refusal(status: int, kind: str, retry_after: bool, content: bytes) -> Reply:
    if kind != "application/problem+json":
        return Reply(status, retry_after=retry_after, trouble=f"Status {status} comes without a problem.")
    try:
        problem = Problem.model_validate_json(content)
    except ValidationError as error:
        return Reply(
            status, retry_after=retry_after, trouble=f"The body is no problem: {first_fault(error)}."
        )
    if problem.status != status or not problem.type.startswith(_PROBLEM):
        return Reply(
            status, retry_after=retry_after, trouble=f"The problem of status {status} is of another."
        )
    return Reply(status, problem=problem.type.removeprefix(_PROBLEM), retry_after=retry_after)


def _answered(answer: Answer, expected: Expected) -> Reply:
    return Reply(200, answer, trouble=_contradiction(answer, expected))


def _contradiction(answer: Answer, expected: Expected) -> str:
    """What an answer that is well formed must not say all the same."""
    if expected.session_id is not None and answer.session_id != expected.session_id:
        return "The follow-up was answered from another session."
    if _names_a_stranger(answer, expected.strangers):
        return "What it quotes is on another wearer's photo."
    if answer.abstained != (answer.reason is not Reason.ANSWERED):
        return f"It says {answer.reason} and {'abstains' if answer.abstained else 'answers'}."
    if "total" not in answer.timings_ms:
        return "Its timings have no total."
    if not answer.answer.strip():
        return "It is empty."
    return ""


def _names_a_stranger(answer: Answer, strangers: frozenset[str]) -> bool:
    read = [each.snippet.casefold() for each in answer.citations if each.kind is CitationKind.PHOTO]
    return any(words.casefold() in snippet for snippet in read for words in strangers)


def _streamed(content: bytes, expected: Expected) -> Reply:
    """The last event is `final` or `error`; what came before must add up to it."""
    citations, tokens = list[Citation](), list[str]()
    events = list(frames(content))
    try:
        for place, (name, data) in enumerate(events):
            if name in ("final", "error") and place != len(events) - 1:
                return Reply(200, trouble=f"The stream goes on after its {name}.")
            if name == "stage":
                StageEvent.model_validate_json(data)
            elif name == "identified":
                IdentifiedEvent.model_validate_json(data)
            elif name == "citation":
                citations.append(Citation.model_validate_json(data))
            elif name == "token":
                tokens.append(TokenEvent.model_validate_json(data).text)
            elif name == "error":
                problem = Problem.model_validate_json(data)
                return Reply(problem.status, problem=problem.type.removeprefix(_PROBLEM))
            elif name == "final":
                return _added_up(Answer.model_validate_json(data), citations, tokens, expected)
    except ValidationError as error:
        return Reply(200, trouble=f"An event is not what it is called: {first_fault(error)}.")
    return Reply(200, trouble="The stream ends without an answer.")


def _added_up(answer: Answer, citations: list[Citation], tokens: list[str], expected: Expected) -> Reply:
    if "".join(tokens).split() != answer.answer.split():
        return Reply(200, answer, trouble="The streamed words are not the answer's.")
    if citations != answer.citations:
        return Reply(200, answer, trouble="The streamed citations are not the answer's.")
    return _answered(answer, expected)


def frames(content: bytes) -> Iterator[tuple[str, str]]:
    """(event, data) of each server-sent event."""
    for block in content.decode(errors="replace").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in fields:
            yield fields.get("event", "message"), fields["data"]
