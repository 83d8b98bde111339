"""Spans that a test can look at, where telemetry would be on."""

from collections.abc import Mapping
from contextvars import Token
from types import TracebackType
from typing import Self

from chassis.telemetry.spans import CURRENT, Attribute, Kind, Span
from chassis.telemetry.tracing import traceparent


class NotedSpan(Span):
    """Keeps what it is told and what was begun within it; in its `with` block it is the current one."""

    recorded = True

    def __init__(self, name: str = "request", kind: str = "server", number: int = 1) -> None:
        self.name = name
        self.kind = kind
        self.number = number
        self.attributes: dict[str, Attribute] = {}
        self.failure: str | None = None
        self.children: list[NotedSpan] = []
        self._tokens: list[Token[Span]] = []

    @property
    def span_id(self) -> str:
        """16 hex digits."""
        return f"{self.number:016x}"

    @property
    def all(self) -> "list[NotedSpan]":
        """Everything within it, outer ones first."""
        return [inner for child in self.children for inner in (child, *child.all)]

    def named(self, name: str) -> "NotedSpan":
        """The only one within it of that name."""
        inner, *others = [each for each in self.all if each.name == name]
        assert not others
        return inner

    def set(self, **attributes: Attribute) -> None:
        self.attributes |= attributes

    def failed(self, kind: str) -> None:
        self.failure = kind

    def child(self, name: str, kind: Kind, attributes: Mapping[str, Attribute]) -> Span:
        made = NotedSpan(name, kind, 16 * self.number + len(self.children) + 1)
        made.set(**attributes)
        self.children.append(made)
        return made

    def traceparent(self, trace_id: str) -> str:
        return traceparent(trace_id, self.span_id, sampled=True)

    def __enter__(self) -> Self:
        self._tokens.append(CURRENT.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        CURRENT.reset(self._tokens.pop())
        if isinstance(error, Exception):
            self.failed(type(error).__name__)
