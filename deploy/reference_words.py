"""Words of the API reference that the contracts do not hold."""

from pydantic import BaseModel

from contracts.answer import (
    Answer,
    Citation,
    IdentifiedEvent,
    Reason,
    StageEvent,
    TokenEvent,
    TranscriptEvent,
)
from contracts.errors import ErrorKind, Problem

EVENTS: dict[str, tuple[type[BaseModel], str]] = {
    "stage": (StageEvent, "A stage ended."),
    "transcript": (
        TranscriptEvent,
        "The recording was understood. It comes before the stages of the answer.",
    ),
    "identified": (IdentifiedEvent, "The thing in the photo was recognised, before the answer is known."),
    "citation": (Citation, "A source of the answer."),
    "token": (TokenEvent, "A piece of the answer."),
    "final": (Answer, "The last event: the same body as without a stream."),
    "error": (Problem, "The last event if the question failed."),
}
"""Events of a stream by name: data, and when it is sent."""

REASONS = {
    Reason.ANSWERED: "There is an answer.",
    Reason.MODEL_UNSURE: "Nothing that was found is clear enough.",
    Reason.UNSUPPORTED: "An answer was found, but a check did not confirm it.",
    Reason.NO_EVIDENCE: "Nothing relevant was found.",
    Reason.TIMED_OUT: "The deadline passed.",
    Reason.OVERLOADED: "The platform is too busy. Try again later.",
    Reason.UNAVAILABLE: "A search, the model or the verifier does not answer.",
    Reason.NOTHING_INDEXED: "Nothing is indexed yet.",
    Reason.LANGUAGE: "The question is not in English, and there is no language model.",
    Reason.NEEDS_PHOTO: "The question is about something in view, and there is no photo.",
    Reason.NOT_HEARD: "The recording has no words.",
    Reason.NOT_REMEMBERED: "The memory holds nothing like it.",
}

_FIX = "Fix the request."
_LATER = "Try again after `Retry-After` seconds."
_SMALLER = "Send less."

REMEDIES = {
    ErrorKind.MALFORMED_REQUEST: _FIX,
    ErrorKind.INVALID_REQUEST: "Fix the field that `detail` names.",
    ErrorKind.PAYLOAD_TOO_LARGE: _SMALLER,
    ErrorKind.URI_TOO_LONG: _SMALLER,
    ErrorKind.HEADERS_TOO_LARGE: _SMALLER,
    ErrorKind.REQUEST_TIMEOUT: "Send the request faster.",
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: "Send the content type that `detail` names.",
    ErrorKind.UNSUPPORTED_IMAGE: "Send a JPEG, PNG, WebP, HEIC, AVIF, GIF, BMP or TIFF.",
    ErrorKind.CORRUPT_IMAGE: "Send another photo.",
    ErrorKind.IMAGE_TOO_LARGE: "Send a smaller photo, without animation.",
    ErrorKind.IMAGE_URL_NOT_ALLOWED: "Send the bytes in place of an address.",
    ErrorKind.IMAGE_REQUIRED: "No longer used.",
    ErrorKind.SESSION_NOT_FOUND: "Start a new conversation: send the photo again, without `session_id`.",
    ErrorKind.PIPELINE_NOT_FOUND: "Use a name of `GET /v1/models`.",
    ErrorKind.TRACE_NOT_FOUND: "Only the newest traces are kept.",
    ErrorKind.COLLECTION_NOT_FOUND: "Check the name; index something first.",
    ErrorKind.COLLECTION_CONFLICT: "See `detail`: another model made the collection, or it is in use.",
    ErrorKind.UNAUTHORIZED: "Send `Authorization: Bearer KEY`.",
    ErrorKind.FOREIGN_PAGE: "The operator sets `LOREGLASS_GATEWAY_HOSTS` or `LOREGLASS_GATEWAY_ORIGINS`.",
    ErrorKind.EXPERIMENTS_NOT_ALLOWED: "The operator sets `LOREGLASS_GATEWAY_EXPERIMENTS=true`.",
    ErrorKind.NOT_SUPPORTED: "Use another engine.",
    ErrorKind.NOT_CONFIGURED: "The operator sets it up; `detail` names it.",
    ErrorKind.UNSUPPORTED_AUDIO: "Send WAV, MP3, M4A, AAC, Ogg, WebM or FLAC.",
    ErrorKind.CORRUPT_AUDIO: "Send another recording.",
    ErrorKind.IDEMPOTENCY_KEY_REUSED: "Use a new key for each question.",
    ErrorKind.QUOTA_EXCEEDED: _LATER,
    ErrorKind.STORAGE_FULL: "The operator frees space on the disk.",
    ErrorKind.NOT_FOUND: "Check the path.",
    ErrorKind.METHOD_NOT_ALLOWED: "Use a method of the header `Allow`.",
    ErrorKind.DEADLINE_EXCEEDED: "Try again with a longer `deadline_ms`.",
    ErrorKind.OVERLOADED: _LATER,
    ErrorKind.DEPENDENCY_UNAVAILABLE: _LATER,
    ErrorKind.NOT_READY: _LATER,
    ErrorKind.INTERNAL: "Report it to the operator with `trace_id`.",
}
"""What a client does about an error."""
