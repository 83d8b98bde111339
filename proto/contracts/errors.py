"""Error kinds and the problem+json body (RFC 9457) that carries them."""

from enum import StrEnum

from loreglass_client import models

Problem = models.Problem


class ErrorKind(StrEnum):
    """Everything that can go wrong at a Loreglass boundary; stable, so that callers may switch on it."""

    MALFORMED_REQUEST = "malformed_request"
    INVALID_REQUEST = "invalid_request"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    UNSUPPORTED_IMAGE = "unsupported_image"
    CORRUPT_IMAGE = "corrupt_image"
    IMAGE_TOO_LARGE = "image_too_large"
    IMAGE_URL_NOT_ALLOWED = "image_url_not_allowed"
    IMAGE_REQUIRED = "image_required"
    SESSION_NOT_FOUND = "session_not_found"
    PIPELINE_NOT_FOUND = "pipeline_not_found"
    TRACE_NOT_FOUND = "trace_not_found"
    COLLECTION_NOT_FOUND = "collection_not_found"
    COLLECTION_CONFLICT = "collection_conflict"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    OVERLOADED = "overloaded"
    DEPENDENCY_UNAVAILABLE = "dependency_unavailable"
    NOT_READY = "not_ready"
    INTERNAL = "internal"
    UNAUTHORIZED = "unauthorized"
    EXPERIMENTS_NOT_ALLOWED = "experiments_not_allowed"
    NOT_SUPPORTED = "not_supported"
    NOT_CONFIGURED = "not_configured"
    UNSUPPORTED_AUDIO = "unsupported_audio"
    CORRUPT_AUDIO = "corrupt_audio"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    URI_TOO_LONG = "uri_too_long"
    HEADERS_TOO_LARGE = "headers_too_large"
    REQUEST_TIMEOUT = "request_timeout"
    QUOTA_EXCEEDED = "quota_exceeded"
    STORAGE_FULL = "storage_full"
    FOREIGN_PAGE = "foreign_page"
