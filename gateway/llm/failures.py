"""What can go wrong at the model's server, as our own errors.

Details are read by callers: they say nothing of the server, its key or its model. Our log says the rest.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import structlog

from chassis.errors import DependencyUnavailable, LoreglassError, Overloaded
from gateway.llm.wire import ErrorWire

log = structlog.get_logger()

_UNAVAILABLE = "The vision-language model is not available."
_BUSY = "The vision-language model is too busy just now."
_CONTEXT_WORDS = (
    "context length",
    "context_length",
    "context window",
    "max_model_len",
    "maximum model length",
    "longer than the maximum",
    "reduce the length",
    "too many tokens",
)
_QUOTED_REQUEST = re.compile(r"""['"]input['"]\s*:""")
_MAX_LOGGED = 80
_LONGEST_WAIT_S = 3_600.0


class VlmReplyUnusable(DependencyUnavailable):
    """The model wrote something that is not the object it was asked for, even after one repair."""


class VlmDeclined(VlmReplyUnusable):
    """The server's safeguards kept the model from answering."""


class VlmKeyRefused(DependencyUnavailable):
    """The server wants another key, or one at all."""


class ContextTooLong(DependencyUnavailable):
    """Prompt and reply together are longer than the model's context; a shorter prompt may fit."""


class RequestRefused(Exception):
    """The server takes requests, but not this one: perhaps it lacks an ability."""

    def __init__(self, error: ErrorWire, status: int) -> None:
        super().__init__(status)
        self.error = error
        self.status = status

    @property
    def complaint(self) -> str:
        """What the server said of the reason, without the request that vLLM quotes behind it."""
        said = _QUOTED_REQUEST.split(self.error.message, maxsplit=1)[0]
        return f"{self.error.param or ''} {self.error.code or ''} {said}"


def failure(status: int, error: ErrorWire, retry_after: str | None, model: str) -> Exception:
    """The error for an HTTP status, or for the status that an event of the stream carries."""
    if status in (429, 503):
        return Overloaded(_BUSY, retry_after_s=seconds_of(retry_after))
    if status in (400, 413, 422):
        if is_about_context(error):
            return ContextTooLong("Question and evidence are longer than the model can read at once.")
        return RequestRefused(error, status)
    if status in (401, 403):
        log.error("vlm.key_refused", status=status, advice="set the key that the server was started with")
        return VlmKeyRefused(_UNAVAILABLE)
    if status == 404:
        log.error("vlm.model_or_route_unknown", model=model, advice="GET /v1/models names what is served")
    else:
        log.warning("vlm.failed", status=status, **_loggable(error))
    return DependencyUnavailable(_UNAVAILABLE)


def refused_for_good(refusal: RequestRefused) -> LoreglassError:
    """The error for a request that the server takes in no form."""
    log.error("vlm.request_refused", status=refusal.status, **_loggable(refusal.error))
    return DependencyUnavailable(_UNAVAILABLE)


def unreachable(reason: str) -> LoreglassError:
    """The error for a server that is away, or went away."""
    log.warning("vlm.unreachable", reason=reason)
    return DependencyUnavailable(_UNAVAILABLE)


def is_about_context(error: ErrorWire) -> bool:
    """Whether the prompt was too long: vLLM and OpenAI say so in words and in a code."""
    said = f"{error.code or ''} {error.message}".lower()
    return any(words in said for words in _CONTEXT_WORDS)


def seconds_of(retry_after: str | None) -> float:
    """`Retry-After` (RFC 9110, 10.2.3: seconds or a date) in seconds; 1 when there is none to read."""
    if retry_after is None:
        return 1.0
    if retry_after.strip().isdecimal():
        return min(float(retry_after), _LONGEST_WAIT_S)
    try:
        wait = parsedate_to_datetime(retry_after).astimezone(UTC) - datetime.now(UTC)
    except (ValueError, OverflowError):
        return 1.0
    return min(max(0.0, wait.total_seconds()), _LONGEST_WAIT_S)


def _loggable(error: ErrorWire) -> dict[str, str]:
    """Type, parameter and code; the message may quote the wearer's question."""
    told = {"type": error.type, "param": error.param, "code": error.code}
    return {f"server_{key}": str(value)[:_MAX_LOGGED] for key, value in told.items() if value is not None}
