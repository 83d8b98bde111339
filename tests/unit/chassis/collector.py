"""A collector of traces: OTLP over HTTP, protobuf in, spans by service out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.loopback import taking_posts

SERVER, CLIENT = WireSpan.SPAN_KIND_SERVER, WireSpan.SPAN_KIND_CLIENT


@dataclass(frozen=True, slots=True)
class CollectedSpan:
    """A span as it arrived; ids are hex, `parent` is "" for a root."""

    service: str
    version: str
    name: str
    kind: int
    trace: str
    id: str
    parent: str
    failed: bool
    attributes: dict[str, str | int | bool]


class Collector:
    """What has arrived."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.url = ""
        self.raw: list[bytes] = []
        self.paths: list[str] = []

    @property
    def spans(self) -> list[CollectedSpan]:
        """All spans, in the order of their arrival."""
        return [span for body in self.raw for span in _spans(body)]

    def named(self, name: str, service: str = "") -> CollectedSpan:
        """The only span of this name."""
        (found,) = (each for each in self.spans if each.name == name and service in ("", each.service))
        return found


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    """A collector that answers with `status`."""
    collector = Collector(status)

    def keep(request: BaseHTTPRequestHandler, body: bytes) -> None:
        collector.raw.append(body)
        collector.paths.append(request.path)
        request.send_response(collector.status)
        request.end_headers()
        request.wfile.write(ExportTraceServiceResponse().SerializeToString())

    with taking_posts(keep) as collector.url:
        yield collector


def _spans(body: bytes) -> Iterator[CollectedSpan]:
    for group in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = {each.key: each.value.string_value for each in group.resource.attributes}
        for scope in group.scope_spans:
            for span in scope.spans:
                yield CollectedSpan(
                    service=resource["service.name"],
                    version=resource["service.version"],
                    name=span.name,
                    kind=span.kind,
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    failed=span.status.code == Status.STATUS_CODE_ERROR,
                    attributes={
                        each.key: getattr(each.value, str(each.value.WhichOneof("value")))
                        for each in span.attributes
                    },
                )
