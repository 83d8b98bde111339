"""`python -m deploy.reference`: write docs/reference from contracts, settings and the command."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings
from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

import deploy.command  # noqa: F401 - adds its commands to the app
from chassis.errors import LoreglassError
from chassis.settings import AppSettings, ServiceAccess
from clients.cli import app as command
from clients.settings import ClientSettings
from contracts import answer, memory
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
from corpus.settings import CorpusSettings
from deploy.inventory import APPS
from deploy.openapi import document
from deploy.settings import LiteSettings
from services.vlm.settings import ServeSettings

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
_MODELS: tuple[type[BaseModel], ...] = (
    answer.AnswerRequest,
    answer.ImageInput,
    answer.AudioInput,
    answer.MemoryInput,
    answer.Experiment,
    answer.Answer,
    answer.Citation,
    answer.LookedAt,
    answer.ModelUsage,
    answer.Explanation,
    answer.Trace,
    answer.StageTrace,
    answer.PlanTrace,
    memory.MemoryReply,
    memory.Sighting,
    Problem,
)
_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    bytes: "base64 string",
    datetime: "date and time",
}

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
    Reason.MODEL_UNSURE: "No result is clear enough for the language model.",
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
    Reason.LOW_CONFIDENCE: "Nothing that was found is clear enough. No language model read it.",
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
"""The advice in the table of errors."""


def _table(headers: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = (headers, ["---"] * len(headers), *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _first_line(documented: Any) -> str:
    return str(documented.__doc__ or "").strip().partition("\n")[0]


def _type(annotation: Any) -> str:
    """Return a type in JSON's words; other contracts are links to their tables."""
    if annotation in _TYPES:
        return _TYPES[annotation]
    arguments = [each for each in get_args(annotation) if each is not NoneType]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(f"`{each.value}`" for each in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        has_table = annotation in _MODELS
        return (
            f"[{annotation.__name__}](#{annotation.__name__.lower()})" if has_table else annotation.__name__
        )
    if get_origin(annotation) is list:
        return f"list of {_type(arguments[0])}"
    if get_origin(annotation) is dict:
        return f"object of {_type(arguments[1])}s"
    return _type(arguments[0]) + (" or null" if NoneType in get_args(annotation) else "")


def _description(field: FieldInfo) -> str:
    """Return the description. The choices of a setting stand at its end, if it does not name each."""
    text, choices = field.description or "", field.annotation
    if isinstance(choices, type) and issubclass(choices, Enum):
        names = [f"`{each.value}`" for each in choices]
        if not all(name in text for name in names):
            text += f" One of {', '.join(names)}."
    return text.strip()


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.is_required():
        return "required"
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, SecretStr) or is_dataclass(value) or field.default_factory is not None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int) and value and value % 2**20 == 0:
        return f"`{value}` ({value >> 20} MiB)"
    return f"`{value}`" if value or value == 0 else ""


def _fields(model: type[BaseModel]) -> str:
    fields = model.model_fields.items()
    rows = ((f"`{name}`", _type(field.annotation), field.description or "") for name, field in fields)
    return _table(("field", "type", ""), rows)


def _routes() -> Iterator[Sequence[str]]:
    for path, methods in document("gateway")["paths"].items():
        for method, route in methods.items():
            yield (
                f"`{method.upper()} {path}`",
                " ".join(route.get("description", "").partition("\n\n")[0].split()),
            )


def _errors() -> Iterator[Sequence[str]]:
    for error in sorted(LoreglassError.__subclasses__(), key=lambda each: each.status):
        yield (
            f"`{error.kind.value}`",
            str(error.status),
            error.title,
            REMEDIES[error.kind],
        )


def api() -> str:
    """Return the page of the gateway's routes, fields, events and errors."""
    parts = [
        "# API reference",
        "The guide is [Asking it](../api.md). A running gateway serves an interactive reference at "
        "`/docs`, and its OpenAPI document at `/openapi.json`. Routes under `/v1/` follow OpenAI's API.",
        "## Routes",
        _table(("route", ""), _routes()),
        "## Fields",
        "`POST /answer` takes an `AnswerRequest` as JSON, or its fields as `multipart/form-data` with "
        "`image` and `audio` as files. It replies with an `Answer`.",
    ]
    for model in _MODELS:
        parts += [f"### {model.__name__}", _first_line(model), _fields(model)]
    parts += ["## Events", "With `Accept: text/event-stream` the reply is a stream of events."]
    for name, (model, text) in EVENTS.items():
        parts += [f"### `{name}`", text, _fields(model)]
    parts += [
        "## Reasons",
        _table(("`reason`", "meaning"), ((f"`{each.value}`", REASONS[each]) for each in answer.Reason)),
        "## Errors",
        "An error reply is a [Problem](#problem) with the media type `application/problem+json`. The end "
        "of its `type` is the kind. `Retry-After` says when to try again.",
        _table(("kind", "status", "title", "what to do"), _errors()),
    ]
    return "\n\n".join(parts) + "\n"


def _settings(
    settings: type[BaseSettings], prefix: str = "", without: type[BaseSettings] | None = None
) -> str:
    prefix = prefix or str(settings.model_config.get("env_prefix", ""))
    shared = without.model_fields if without else {}

    def rows() -> Iterator[Sequence[str]]:
        for name, field in settings.model_fields.items():
            same = name in shared and shared[name].default == field.default
            nested = isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings)
            if not same and not nested:
                yield f"`{prefix}{name.upper()}`", _default(field), _description(field)

    return _table(("variable", "default", ""), rows())


def settings() -> str:
    """Return the page of all environment variables."""
    parts = [
        "# Settings",
        "Settings are environment variables. With a wrong value an app does not start, and says why. "
        "Which engines there are: [engines](../engines.md).",
        "## `loreglass serve` and the clients",
        _settings(LiteSettings),
        _settings(ClientSettings),
        _settings(CorpusSettings),
        "## Gateway",
        "It also has the settings of [every app](#every-app), with the prefix `LOREGLASS_GATEWAY_`.",
        _settings(APPS[0].settings, without=AppSettings),
        "## Every app",
        "The gateway and every service have these, each under its own name: `LOREGLASS_OCR_PORT`.",
        _settings(AppSettings, "LOREGLASS_…_"),
        "## Service tokens",
        _settings(ServiceAccess),
    ]
    for app in APPS[1:]:
        parts += [f"## {app.name}", f"[About this service](../../services/{app.name}/README.md)."]
        parts.append(_settings(app.settings, without=AppSettings))
    parts += ["## vLLM (`python -m services.vlm`)", _settings(ServeSettings)]
    return "\n\n".join(parts) + "\n"


def cli() -> str:
    """Return the page of the command `loreglass`, as Typer writes it."""
    group = get_command(command)
    text = get_docs_for_click(obj=group, ctx=Context(group), name="loreglass", title="Command line")
    return text.replace(f"{ROOT}/", "").rstrip() + "\n"


PAGES: dict[str, Callable[[], str]] = {"api.md": api, "settings.md": settings, "cli.md": cli}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), "utf-8")
        sys.stderr.write(f"wrote {FOLDER / name}\n")


if __name__ == "__main__":
    main()
