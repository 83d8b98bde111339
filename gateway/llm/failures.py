"""The errors of the model's server, as our own.

Callers read the details: these name no server, key or model. Our log has the rest.
"""

import re

import structlog

from chassis.errors import DependencyUnavailable, LoreglassError, Overloaded
from chassis.resilience.retries import seconds_of
from gateway.llm.capabilities import is_about_images
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
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_LOGGED = 80


class VlmReplyUnusable(DependencyUnavailable):
    """The model's reply is not the object that was asked for, even after one repair."""


class VlmDeclined(VlmReplyUnusable):
    """The server's safeguards kept the model from answering."""


class VlmKeyRefused(DependencyUnavailable):
    """The server wants another key, or one at all."""


class ContextTooLong(DependencyUnavailable):
    """Prompt and reply together are longer than the model's context; a shorter prompt may fit."""


class ServerFailed(DependencyUnavailable):
    """The server is there and answered a request with an error of its own; another request may work."""


class NotThisApi(DependencyUnavailable):
    """Something answers at the address, but not with OpenAI's API."""


class Redirected(DependencyUnavailable):
    """The server sends callers to another address, `target`."""

    def __init__(self, target: str) -> None:
        super().__init__(_UNAVAILABLE)
        self.target = target


class RequestRefused(Exception):
    """The server takes requests, but not this one: perhaps it lacks an ability."""

    def __init__(self, error: ErrorWire, status: int) -> None:
        super().__init__(status)
        self.error = error
        self.status = status

    @property
    def complaint(self) -> str:
        """The reason as the server gives it, without the request that vLLM quotes behind it."""
        return _complaint(self.error)


def failure(
    status: int, error: ErrorWire, retry_after: str | None, model: str, target: str | None = None
) -> Exception:
    """Return the error for an HTTP status, or for the status that an event of the stream carries.

    `target`: the address that a redirect names.
    """
    if target is not None and status in _REDIRECTS:
        log.error("vlm.redirected", status=status, target=target, advice="use that address for the model")
        return Redirected(target)
    if status in (401, 403):
        log.error("vlm.key_refused", status=status, advice="set the key that the server was started with")
        return VlmKeyRefused(_UNAVAILABLE)
    if status == 429:
        return Overloaded(_BUSY, retry_after_s=seconds_of(retry_after, otherwise=1.0))
    if is_about_images(_complaint(error)):  # told with any status: 400, 404, 415, 422, 500
        return RequestRefused(error, status)
    if status == 503:
        return Overloaded(_BUSY, retry_after_s=seconds_of(retry_after, otherwise=1.0))
    if status in (400, 413, 415, 422):
        if is_about_context(error):
            return ContextTooLong("Question and evidence are longer than the model can read at once.")
        return RequestRefused(error, status)
    if status == 404:
        log.error("vlm.model_or_route_unknown", model=model, advice="GET /v1/models names what is served")
        return DependencyUnavailable(_UNAVAILABLE)
    log.warning("vlm.failed", status=status, **_loggable(error))
    return ServerFailed(_UNAVAILABLE)


def _complaint(error: ErrorWire) -> str:
    message = _QUOTED_REQUEST.split(error.message, maxsplit=1)[0]
    return f"{error.param or ''} {error.code or ''} {message}"


def final_refusal(refusal: RequestRefused) -> LoreglassError:
    """Return the error for a request that the server takes in no form."""
    log.error("vlm.request_refused", status=refusal.status, **_loggable(refusal.error))
    return DependencyUnavailable(_UNAVAILABLE)


def unreachable(reason: str) -> LoreglassError:
    """Return the error for a server that is away, or went away."""
    log.warning("vlm.unreachable", reason=reason)
    return DependencyUnavailable(_UNAVAILABLE)


def is_about_context(error: ErrorWire) -> bool:
    """Return whether the prompt was too long: vLLM and OpenAI say so in words and in a code."""
    message = f"{error.code or ''} {error.message}".lower()
    return any(words in message for words in _CONTEXT_WORDS)


def _loggable(error: ErrorWire) -> dict[str, str]:
    """Type, parameter and code; the message may quote the wearer's question."""
    fields = {"type": error.type, "param": error.param, "code": error.code}
    return {f"server_{key}": str(value)[:_MAX_LOGGED] for key, value in fields.items() if value is not None}
