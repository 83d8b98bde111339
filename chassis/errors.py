"""The errors that may cross a boundary: one class for each kind, with its HTTP status and its title.

Servers turn these into problem+json (`chassis.http.problems`); clients turn problem+json back into the class
that the server raised (`error_from_problem`). `detail` is shown to callers: no path, address or stack in it.
"""

from contracts.errors import ErrorKind, Problem

PROBLEM_TYPE_PREFIX = "urn:loreglass:problem:"
_BY_KIND: dict[str, type["LoreglassError"]] = {}


class LoreglassError(Exception):
    """Base of all errors that may cross a boundary. `retry_after_s` becomes the Retry-After header."""

    kind = ErrorKind.INTERNAL
    status = 500
    title = "Something went wrong on our side"

    def __init__(self, detail: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail or self.title
        self.retry_after_s = retry_after_s

    def __init_subclass__(cls, status: int = 0, title: str = "") -> None:
        """Set the kind: the class name in snake case. A subclass without a status keeps its parent's kind."""
        super().__init_subclass__()
        if status:
            name = "".join(f"_{each.lower()}" if each.isupper() else each for each in cls.__name__)[1:]
            cls.kind, cls.status, cls.title = ErrorKind(name), status, title
            _BY_KIND[name] = cls


class MalformedRequest(LoreglassError, status=400, title="The request could not be read"):
    """The bytes are not the format they claim to be."""


class InvalidRequest(
    LoreglassError, status=422, title="A value in the request is missing or out of its limits"
):
    """Well-formed, but a value is missing or out of its limits."""


class PayloadTooLarge(LoreglassError, status=413, title="The request is larger than this endpoint takes"):
    """More bytes or parts than this endpoint takes."""


class UriTooLong(LoreglassError, status=414, title="The address is too long"):
    """The address in the request line is longer than any of ours."""


class HeadersTooLarge(LoreglassError, status=431, title="The headers are too many or too large"):
    """More headers, or larger ones, than are read."""


class RequestTimeout(LoreglassError, status=408, title="The request did not come in time"):
    """The request did not come whole, or came too slowly."""


class UnsupportedMediaType(LoreglassError, status=415, title="The content type is not supported here"):
    """The request's content type is not one this endpoint reads."""


class UnsupportedImage(
    LoreglassError, status=415, title="The upload is not an image format that is read here"
):
    """Not one of the image formats that are decoded."""


class CorruptImage(LoreglassError, status=422, title="The image could not be decoded"):
    """The right format, but it cannot be decoded."""


class ImageTooLarge(LoreglassError, status=413, title="The image has too many pixels or frames"):
    """More pixels or frames than will be decoded."""


class ImageUrlNotAllowed(LoreglassError, status=422, title="Image URLs are not accepted here"):
    """Image URLs are off, or this host is not on the operator's list."""


class ImageRequired(LoreglassError, status=422, title="A photo is needed"):
    """No longer raised: a question may come without a photo. Published kinds stay."""


class SessionNotFound(LoreglassError, status=404, title="No such session"):
    """No such session, or it has expired."""


class PipelineNotFound(LoreglassError, status=404, title="No pipeline of this name"):
    """No pipeline of this name."""


class TraceNotFound(LoreglassError, status=404, title="No such trace"):
    """No such trace, or it is no longer kept."""


class CollectionNotFound(LoreglassError, status=404, title="No such collection"):
    """No collection or alias of this name."""


class CollectionConflict(LoreglassError, status=409, title="The collection is in use"):
    """The change would break a collection that is in use."""


class Unauthorized(LoreglassError, status=401, title="A valid key is needed"):
    """No key, or none that is known here."""


class ExperimentsNotAllowed(LoreglassError, status=403, title="Experiments are not allowed here"):
    """The request carries an experiment, and this platform's operator has not allowed them."""


class NotSupported(LoreglassError, status=422, title="The engine here cannot do this"):
    """The service's engine cannot do this, however it is asked."""


class NotConfigured(LoreglassError, status=501, title="This is not set up here"):
    """The operator has not set this part up."""


class UnsupportedAudio(
    LoreglassError, status=415, title="The upload is not a sound format that is read here"
):
    """Not one of the sound formats that are decoded."""


class CorruptAudio(LoreglassError, status=422, title="The sound could not be decoded"):
    """The right format, but it cannot be decoded."""


class IdempotencyKeyReused(
    LoreglassError, status=422, title="The idempotency key belongs to another request"
):
    """The key was sent before, with another request."""


class QuotaExceeded(LoreglassError, status=429, title="More than this tenant may ask"):
    """The caller's tenant has used up what it may ask; `retry_after_s` says when there is more."""


class StorageFull(LoreglassError, status=507, title="The disk is full"):
    """There is no room on the disk for what is to be kept; what is there stays, and is served."""


class NotFound(LoreglassError, status=404, title="No such route"):
    """No such route."""


class MethodNotAllowed(LoreglassError, status=405, title="This method is not allowed here"):
    """The route exists, but not for this method."""


class DeadlineExceeded(LoreglassError, status=504, title="The deadline has passed"):
    """The caller's time is over, or too short to start."""


class Overloaded(LoreglassError, status=503, title="Too busy just now"):
    """The bounded queue is full; try again later."""


class DependencyUnavailable(
    LoreglassError, status=503, title="Something this service depends on is unavailable"
):
    """Something this service needs does not answer."""


UNAVAILABLE = (DeadlineExceeded, Overloaded, DependencyUnavailable)
"""The errors of a model or service that is slow, busy or unreachable."""


class NotReady(LoreglassError, status=503, title="Not ready yet"):
    """The service is up but cannot work yet."""


class ForeignPage(LoreglassError, status=403, title="This page may not use the gateway"):
    """The request comes from another site's page, or by a name that is not the app's."""


class Internal(LoreglassError, status=500, title="Something went wrong on our side"):
    """A fault of ours; the details are in our log, not in the reply."""


def problem_of(error: LoreglassError, trace_id: str | None = None) -> Problem:
    """Return the body that a caller sees."""
    return Problem(
        type=PROBLEM_TYPE_PREFIX + error.kind.value,
        title=error.title,
        status=error.status,
        detail=error.detail.encode(errors="replace").decode(),  # lone surrogates cannot be sent
        trace_id=trace_id,
    )


def error_from_problem(problem: Problem, retry_after_s: float | None = None) -> LoreglassError:
    """Return the error that the service raised; an unknown type becomes `DependencyUnavailable`."""
    kind = problem.type.removeprefix(PROBLEM_TYPE_PREFIX)
    return _BY_KIND.get(kind, DependencyUnavailable)(problem.detail, retry_after_s=retry_after_s)
