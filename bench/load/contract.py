"""Check replies against the contract, and locust's table of requests against the objectives.

In that table a request's name is how it ended: a `Fate`, `CALLED_WRONG` or `BROKEN`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from bench.generator import Fate, Reply, fate_of
from chassis.validation import first_fault
from contracts.answer import Answer, Citation, CitationKind, IdentifiedEvent, Reason, StageEvent, TokenEvent
from contracts.errors import Problem

MOST_ERRORS = 0.005
MOST_MISSES = 0.01
CALLED_WRONG = "called wrong"
BROKEN = "breaks the contract"
_PROBLEM = "urn:loreglass:problem:"
_EVENTS: Mapping[str, type[BaseModel]] = {
    "stage": StageEvent,
    "identified": IdentifiedEvent,
    "citation": Citation,
    "token": TokenEvent,
}


class ContractBroken(Exception):
    """A reply breaks the contract; the message says how."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The session, if the conversation goes on, and words that are on other photos only."""

    session_id: str | None = None
    strangers: frozenset[str] = frozenset()


def read_reply(status: int, headers: Mapping[str, str], content: bytes, expected: Expected) -> Answer | Reply:
    """Return an answer, streamed or not, or what came in place of one. Raises `ContractBroken`."""
    fields = {name.lower(): value for name, value in headers.items()}
    kind = fields.get("content-type", "").partition(";")[0].strip()
    if status == 0:
        return Reply(0)
    if status == 204:  # forgotten, as wanted
        return Reply(200, answered=True)
    try:
        if status == 200 and kind == "text/event-stream":
            return _read_stream(content, expected)
        if status == 200 and kind == "application/json":
            return _check(Answer.model_validate_json(content), expected)
        if kind != "application/problem+json":
            raise ContractBroken(f"Status {status} comes with {kind or 'no type'}.")
        return _problem(status, "retry-after" in fields, content)
    except ValidationError as error:
        raise ContractBroken(f"The body is not what it is called: {first_fault(error)}.") from error


def reply_to(answer: Answer) -> Reply:
    """Return an answer as the benchmarks count it."""
    return Reply(200, answer.reason.value, not answer.abstained, tuple(answer.degraded))


def _problem(status: int, retry_after: bool, content: bytes) -> Reply:
    problem = Problem.model_validate_json(content)
    if problem.status != status or not problem.type.startswith(_PROBLEM):
        raise ContractBroken(f"The problem of status {status} is of another.")
    if status == 503 and not retry_after:
        raise ContractBroken("A 503 does not say when to come back.")
    return Reply(status, problem.type.removeprefix(_PROBLEM))


def _check(answer: Answer, expected: Expected) -> Answer:
    """Refuse a well-formed answer with contradictory content."""
    read = [each.snippet.casefold() for each in answer.citations if each.kind is CitationKind.PHOTO]
    if expected.session_id is not None and answer.session_id != expected.session_id:
        raise ContractBroken("The follow-up was answered from another session.")
    if any(words.casefold() in snippet for snippet in read for words in expected.strangers):
        raise ContractBroken("What it quotes is on another user's photo.")
    if answer.abstained != (answer.reason is not Reason.ANSWERED):
        verb = "abstains" if answer.abstained else "answers"
        raise ContractBroken(f"It says {answer.reason} and {verb}.")
    if "total" not in answer.timings_ms:
        raise ContractBroken("Its timings have no total.")
    if not answer.answer.strip():
        raise ContractBroken("It is empty.")
    return answer


def _read_stream(content: bytes, expected: Expected) -> Answer | Reply:
    """Read a stream. The last event is `final` or `error`, and must agree with the events before."""
    *before, (last, body) = list(_events(content)) or [("", "")]
    if ended := [name for name, _ in before if name in ("final", "error")]:
        raise ContractBroken(f"The stream goes on after its {ended[0]}.")
    events = [_EVENTS[name].model_validate_json(data) for name, data in before if name in _EVENTS]
    if last == "error":
        problem = Problem.model_validate_json(body)
        return Reply(problem.status, problem.type.removeprefix(_PROBLEM))
    if last != "final":
        raise ContractBroken("The stream ends without an answer.")
    answer = Answer.model_validate_json(body)
    tokens = [event.text for event in events if isinstance(event, TokenEvent)]
    if "".join(tokens).split() != answer.answer.split():
        raise ContractBroken("The streamed words are not the answer's.")
    if [event for event in events if isinstance(event, Citation)] != answer.citations:
        raise ContractBroken("The streamed citations are not the answer's.")
    return _check(answer, expected)


def _events(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield (event, data) of each server-sent event."""
    for block in content.decode(errors="replace").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in fields:
            yield fields.get("event", "message"), fields["data"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One objective: whether it was held, and the sentence that says how."""

    name: str
    held: bool
    sentence: str


def request_name(reply: Reply, ms: float, deadline_ms: float, trouble: str) -> str:
    """Return how a request ended. `trouble`: how its reply breaks the contract."""
    if trouble:
        return BROKEN
    if 400 <= reply.status < 500:
        return CALLED_WRONG
    return fate_of(reply, ms, deadline_ms)


def verdicts(counts: Mapping[str, int]) -> list[Verdict]:
    """Return all objectives; the argument counts the requests of each name in the run."""
    requests = sum(counts.values())

    def count(*names: str) -> int:
        return sum(counts.get(name, 0) for name in names)

    def at_most(name: str, bad: int, share: float, what: str) -> Verdict:
        held = bad == 0 or bad < share * requests
        allowed = f"fewer than {share:.1%}" if share else "none"
        return Verdict(name, held, f"{bad} of {requests} requests {what}; {allowed} may.")

    answered = count(Fate.FULL, Fate.DEGRADED, Fate.REFUSED)
    return [
        Verdict("questions", answered > 0, f"{answered} of {requests} were answered or refused in time."),
        at_most("contract", count(BROKEN), 0, "break the contract"),
        at_most("accepted", count(CALLED_WRONG), 0, "were right and called wrong"),
        at_most("in time", count(Fate.LATE), 0, "were answered after their deadline"),
        at_most("errors", count(Fate.FAILED), MOST_ERRORS, "ended in a server error"),
        at_most("deadline", count(Fate.TIMED_OUT, Fate.LATE), MOST_MISSES, "missed their deadline"),
        at_most("turned away", count(Fate.TURNED_AWAY), 0, "were turned away"),
    ]
