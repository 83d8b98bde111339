"""The one error table: a domain error names a kind; the kind gives the HTTP status and the title.

LoreglassError
├── one class per `ErrorKind` (MalformedRequest, SessionNotFound, Overloaded, …), made from the table

Servers turn these into problem+json (`chassis.http.problems`); clients turn problem+json back into the class
that the server raised (`error_from_problem`). `detail` is shown to callers: no path, address or stack in it.
"""

from dataclasses import dataclass
from typing import ClassVar

from contracts.errors import ErrorKind, Problem

PROBLEM_TYPE_PREFIX = "urn:loreglass:problem:"


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """One row of the table."""

    status: int
    title: str


class LoreglassError(Exception):
    """Base of all errors that may cross a boundary. `retry_after_s` becomes the Retry-After header."""

    kind: ClassVar[ErrorKind] = ErrorKind.INTERNAL

    def __init__(self, detail: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail or ERROR_TABLE[self.kind].title
        self.retry_after_s = retry_after_s


class MalformedRequest(LoreglassError):
    """The bytes are not the format they claim to be."""

    kind = ErrorKind.MALFORMED_REQUEST


class InvalidRequest(LoreglassError):
    """Well-formed, but a value is missing or out of its limits."""

    kind = ErrorKind.INVALID_REQUEST


class PayloadTooLarge(LoreglassError):
    """More bytes or parts than this endpoint takes."""

    kind = ErrorKind.PAYLOAD_TOO_LARGE


class UriTooLong(LoreglassError):
    """The address in the request line is longer than any of ours."""

    kind = ErrorKind.URI_TOO_LONG


class HeadersTooLarge(LoreglassError):
    """More headers, or larger ones, than are read."""

    kind = ErrorKind.HEADERS_TOO_LARGE


class RequestTimeout(LoreglassError):
    """The request did not come whole, or came too slowly."""

    kind = ErrorKind.REQUEST_TIMEOUT


class UnsupportedMediaType(LoreglassError):
    """The request's content type is not one this endpoint reads."""

    kind = ErrorKind.UNSUPPORTED_MEDIA_TYPE


class UnsupportedImage(LoreglassError):
    """Not one of the image formats that are decoded."""

    kind = ErrorKind.UNSUPPORTED_IMAGE


class CorruptImage(LoreglassError):
    """The right format, but it cannot be decoded."""

    kind = ErrorKind.CORRUPT_IMAGE


class ImageTooLarge(LoreglassError):
    """More pixels or frames than will be decoded."""

    kind = ErrorKind.IMAGE_TOO_LARGE


class ImageUrlNotAllowed(LoreglassError):
    """Image URLs are off, or this host is not on the operator's list."""

    kind = ErrorKind.IMAGE_URL_NOT_ALLOWED


class ImageRequired(LoreglassError):
    """No longer raised: a question may come without a photo. Published kinds stay."""

    kind = ErrorKind.IMAGE_REQUIRED


class SessionNotFound(LoreglassError):
    """No such session, or it has expired."""

    kind = ErrorKind.SESSION_NOT_FOUND


class PipelineNotFound(LoreglassError):
    """No pipeline of this name."""

    kind = ErrorKind.PIPELINE_NOT_FOUND


class TraceNotFound(LoreglassError):
    """No such trace, or it is no longer kept."""

    kind = ErrorKind.TRACE_NOT_FOUND


class CollectionNotFound(LoreglassError):
    """No collection or alias of this name."""

    kind = ErrorKind.COLLECTION_NOT_FOUND


class CollectionConflict(LoreglassError):
    """The change would break a collection that is in use."""

    kind = ErrorKind.COLLECTION_CONFLICT


class Unauthorized(LoreglassError):
    """No key, or none that is known here."""

    kind = ErrorKind.UNAUTHORIZED


class ExperimentsNotAllowed(LoreglassError):
    """The request carries an experiment, and this platform's operator has not allowed them."""

    kind = ErrorKind.EXPERIMENTS_NOT_ALLOWED


class NotSupported(LoreglassError):
    """The service's engine cannot do this, however it is asked."""

    kind = ErrorKind.NOT_SUPPORTED


class NotConfigured(LoreglassError):
    """The operator has not set this part up."""

    kind = ErrorKind.NOT_CONFIGURED


class UnsupportedAudio(LoreglassError):
    """Not one of the sound formats that are decoded."""

    kind = ErrorKind.UNSUPPORTED_AUDIO


class CorruptAudio(LoreglassError):
    """The right format, but it cannot be decoded."""

    kind = ErrorKind.CORRUPT_AUDIO


class IdempotencyKeyReused(LoreglassError):
    """The key was sent before, with another request."""

    kind = ErrorKind.IDEMPOTENCY_KEY_REUSED


class QuotaExceeded(LoreglassError):
    """The caller's tenant has used up what it may ask; `retry_after_s` says when there is more."""

    kind = ErrorKind.QUOTA_EXCEEDED


class StorageFull(LoreglassError):
    """There is no room on the disk for what is to be kept; what is there stays, and is served."""

    kind = ErrorKind.STORAGE_FULL


class NotFound(LoreglassError):
    """No such route."""

    kind = ErrorKind.NOT_FOUND


class MethodNotAllowed(LoreglassError):
    """The route exists, but not for this method."""

    kind = ErrorKind.METHOD_NOT_ALLOWED


class DeadlineExceeded(LoreglassError):
    """The caller's time is over, or too short to start."""

    kind = ErrorKind.DEADLINE_EXCEEDED


class Overloaded(LoreglassError):
    """The bounded queue is full; try again later."""

    kind = ErrorKind.OVERLOADED


class DependencyUnavailable(LoreglassError):
    """Something this service needs does not answer."""

    kind = ErrorKind.DEPENDENCY_UNAVAILABLE


class NotReady(LoreglassError):
    """The service is up but cannot work yet."""

    kind = ErrorKind.NOT_READY


class ForeignPage(LoreglassError):
    """The request comes from another site's page, or by a name that is not the app's."""

    kind = ErrorKind.FOREIGN_PAGE


class Internal(LoreglassError):
    """A fault of ours; the details are in our log, not in the reply."""

    kind = ErrorKind.INTERNAL


ERROR_TABLE: dict[ErrorKind, ErrorEntry] = {
    ErrorKind.MALFORMED_REQUEST: ErrorEntry(400, "The request could not be read"),
    ErrorKind.INVALID_REQUEST: ErrorEntry(422, "A value in the request is missing or out of its limits"),
    ErrorKind.PAYLOAD_TOO_LARGE: ErrorEntry(413, "The request is larger than this endpoint takes"),
    ErrorKind.URI_TOO_LONG: ErrorEntry(414, "The address is too long"),
    ErrorKind.HEADERS_TOO_LARGE: ErrorEntry(431, "The headers are too many or too large"),
    ErrorKind.REQUEST_TIMEOUT: ErrorEntry(408, "The request did not come in time"),
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: ErrorEntry(415, "The content type is not supported here"),
    ErrorKind.UNSUPPORTED_IMAGE: ErrorEntry(415, "The upload is not an image format that is read here"),
    ErrorKind.CORRUPT_IMAGE: ErrorEntry(422, "The image could not be decoded"),
    ErrorKind.IMAGE_TOO_LARGE: ErrorEntry(413, "The image has too many pixels or frames"),
    ErrorKind.IMAGE_URL_NOT_ALLOWED: ErrorEntry(422, "Image URLs are not accepted here"),
    ErrorKind.IMAGE_REQUIRED: ErrorEntry(422, "A photo is needed"),
    ErrorKind.SESSION_NOT_FOUND: ErrorEntry(404, "No such session"),
    ErrorKind.PIPELINE_NOT_FOUND: ErrorEntry(404, "No pipeline of this name"),
    ErrorKind.TRACE_NOT_FOUND: ErrorEntry(404, "No such trace"),
    ErrorKind.COLLECTION_NOT_FOUND: ErrorEntry(404, "No such collection"),
    ErrorKind.COLLECTION_CONFLICT: ErrorEntry(409, "The collection is in use"),
    ErrorKind.UNAUTHORIZED: ErrorEntry(401, "A valid key is needed"),
    ErrorKind.FOREIGN_PAGE: ErrorEntry(403, "This page may not use the gateway"),
    ErrorKind.EXPERIMENTS_NOT_ALLOWED: ErrorEntry(403, "Experiments are not allowed here"),
    ErrorKind.NOT_SUPPORTED: ErrorEntry(422, "The engine here cannot do this"),
    ErrorKind.NOT_CONFIGURED: ErrorEntry(501, "This is not set up here"),
    ErrorKind.UNSUPPORTED_AUDIO: ErrorEntry(415, "The upload is not a sound format that is read here"),
    ErrorKind.CORRUPT_AUDIO: ErrorEntry(422, "The sound could not be decoded"),
    ErrorKind.IDEMPOTENCY_KEY_REUSED: ErrorEntry(422, "The idempotency key belongs to another request"),
    ErrorKind.QUOTA_EXCEEDED: ErrorEntry(429, "More than this tenant may ask"),
    ErrorKind.STORAGE_FULL: ErrorEntry(507, "The disk is full"),
    ErrorKind.NOT_FOUND: ErrorEntry(404, "No such route"),
    ErrorKind.METHOD_NOT_ALLOWED: ErrorEntry(405, "This method is not allowed here"),
    ErrorKind.DEADLINE_EXCEEDED: ErrorEntry(504, "The deadline has passed"),
    ErrorKind.OVERLOADED: ErrorEntry(503, "Too busy just now"),
    ErrorKind.DEPENDENCY_UNAVAILABLE: ErrorEntry(503, "Something this service depends on is unavailable"),
    ErrorKind.NOT_READY: ErrorEntry(503, "Not ready yet"),
    ErrorKind.INTERNAL: ErrorEntry(500, "Something went wrong on our side"),
}

_CLASSES_BY_NAME: dict[str, type[LoreglassError]] = {
    error.kind.value: error for error in LoreglassError.__subclasses__()
}


def problem_of(error: LoreglassError, trace_id: str | None = None) -> Problem:
    """The body that a caller sees."""
    entry = ERROR_TABLE[error.kind]
    return Problem(
        type=PROBLEM_TYPE_PREFIX + error.kind.value,
        title=entry.title,
        status=entry.status,
        detail=error.detail.encode(errors="replace").decode(),  # lone surrogates cannot be sent
        trace_id=trace_id,
    )


def error_from_problem(problem: Problem, retry_after_s: float | None = None) -> LoreglassError:
    """The class that the service raised; an unknown type becomes `DependencyUnavailable`."""
    name = problem.type.removeprefix(PROBLEM_TYPE_PREFIX)
    error_class = _CLASSES_BY_NAME.get(name, DependencyUnavailable)
    return error_class(problem.detail, retry_after_s=retry_after_s)
