"""Errors: a class for each kind that the gateway reports, and two for failures on the way."""

from typing import Any

from pydantic import ValidationError

from loreglass_client.models import Problem

_TYPE = "urn:loreglass:problem:"
_OF_PROXIES = (502, 503, 504)
_BY_KIND: dict[str, type["LoreglassError"]] = {}


class LoreglassError(Exception):
    """Base of all errors; raised itself for kinds that this version does not know.

    `kind`: a stable word. `detail`: what to fix. `status`: HTTP's, None without a reply. `trace_id`: for the
    gateway's operator. `retry_after_s`: seconds until the next attempt.
    """

    kind = "unknown"

    def __init__(
        self,
        detail: str = "",
        *,
        status: int | None = None,
        trace_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail or str(type(self).__doc__)
        self.status = status
        self.trace_id = trace_id
        self.retry_after_s = retry_after_s

    def __init_subclass__(cls, **options: Any) -> None:
        """Set the kind: the class name in snake case."""
        super().__init_subclass__(**options)
        cls.kind = "".join(f"_{each.lower()}" if each.isupper() else each for each in cls.__name__)[1:]
        _BY_KIND[cls.kind] = cls


class Unreachable(LoreglassError):
    """No connection, or one that broke before the end of the reply."""


class BrokenReply(LoreglassError):
    """The reply breaks the gateway's contract."""


class MalformedRequest(LoreglassError):
    """The bytes are not the format they claim to be."""


class InvalidRequest(LoreglassError):
    """Well-formed, but a value is missing or out of its limits."""


class PayloadTooLarge(LoreglassError):
    """More bytes or parts than this endpoint takes."""


class UriTooLong(LoreglassError):
    """The address in the request line is longer than any of the gateway's."""


class HeadersTooLarge(LoreglassError):
    """More headers, or larger ones, than are read."""


class RequestTimeout(LoreglassError):
    """The request did not come whole, or came too slowly."""


class UnsupportedMediaType(LoreglassError):
    """The request's content type is not one this endpoint reads."""


class UnsupportedImage(LoreglassError):
    """Not one of the image formats that are decoded."""


class CorruptImage(LoreglassError):
    """The right format, but it cannot be decoded."""


class ImageTooLarge(LoreglassError):
    """More pixels or frames than will be decoded."""


class ImageUrlNotAllowed(LoreglassError):
    """Image URLs are off, or this host is not on the operator's list."""


class ImageRequired(LoreglassError):
    """No longer raised: a question may come without a photo. Published kinds stay."""


class SessionNotFound(LoreglassError):
    """No such session, or it has expired."""


class PipelineNotFound(LoreglassError):
    """No pipeline of this name."""


class TraceNotFound(LoreglassError):
    """No such trace, or it is no longer kept."""


class CollectionNotFound(LoreglassError):
    """No collection or alias of this name."""


class CollectionConflict(LoreglassError):
    """The change would break a collection that is in use."""


class Unauthorized(LoreglassError):
    """No key, or none that is known here."""


class ExperimentsNotAllowed(LoreglassError):
    """The request carries an experiment, and this platform's operator has not allowed them."""


class NotSupported(LoreglassError):
    """The service's engine cannot do this, however it is asked."""


class NotConfigured(LoreglassError):
    """The operator has not set this part up."""


class UnsupportedAudio(LoreglassError):
    """Not one of the sound formats that are decoded."""


class CorruptAudio(LoreglassError):
    """The right format, but it cannot be decoded."""


class IdempotencyKeyReused(LoreglassError):
    """The key was sent before, with another request."""


class QuotaExceeded(LoreglassError):
    """The caller's tenant has used up what it may ask; `retry_after_s` says when there is more."""


class ForeignPage(LoreglassError):
    """The gateway has no keys and does not go by this host name, or the page's site may not ask there."""


class StorageFull(LoreglassError):
    """There is no room on the platform's disk."""


class NotFound(LoreglassError):
    """No such route."""


class MethodNotAllowed(LoreglassError):
    """The route exists, but not for this method."""


class DeadlineExceeded(LoreglassError):
    """The caller's time is over, or too short to start."""


class Overloaded(LoreglassError):
    """The bounded queue is full; try again later."""


class DependencyUnavailable(LoreglassError):
    """Something this service needs does not answer."""


class NotReady(LoreglassError):
    """The service is up but cannot work yet."""


class Internal(LoreglassError):
    """A fault of ours; the details are in our log, not in the reply."""


def refusal(status: int, content: bytes, retry_after_s: float | None) -> LoreglassError:
    """Return the error of an unsuccessful reply; a proxy's is not a problem of the gateway."""
    try:
        problem = Problem.model_validate_json(content)
    except ValidationError:
        detail = f"The gateway answered with status {status}."
        cls = Unreachable if status in _OF_PROXIES else BrokenReply
        return cls(detail, status=status, retry_after_s=retry_after_s)
    kind = problem.type.removeprefix(_TYPE)
    error = _BY_KIND.get(kind, LoreglassError)(
        problem.detail, status=problem.status, trace_id=problem.trace_id, retry_after_s=retry_after_s
    )
    error.kind = kind
    return error
