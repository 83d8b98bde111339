"""What goes wrong, as OpenAI's clients read it."""

from typing import Any

from starlette.responses import Response

from chassis.errors import ERROR_TABLE, LoreglassError, QuotaExceeded, problem_of
from chassis.http.problems import problem_response


def refused(error: LoreglassError, trace_id: str) -> Response:
    """The reply: problem+json, with the member that OpenAI's clients read."""
    return problem_response(error, trace_id, error=openai_error(error))


def openai_error(error: LoreglassError) -> dict[str, Any]:
    """The member that OpenAI's clients read, beside the problem+json that ours do."""
    body = problem_of(error)
    kind = "server_error" if ERROR_TABLE[error.kind].status >= 500 else "invalid_request_error"
    if isinstance(error, QuotaExceeded):
        kind = "rate_limit_error"
    return {"message": body.detail, "type": kind, "param": None, "code": error.kind.value}
