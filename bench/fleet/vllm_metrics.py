"""The stand-in model's `/metrics`, named as by vLLM 0.11 and later; tests/vllm compares it."""

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from capacity.standins import VLM, Node, StandInReply, StandInRequest
from capacity.standins.exchange import whole_reply
from chassis.resilience.deadlines import Clock

PATH = "/metrics"
_LABELS = ("model_name", "engine")
_FIRST_S = (0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40)
_STEP_S = (0.01, 0.0125, 0.015, 0.0175, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1)
_WHOLE_S = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 60)
_OPENED, _DONE = b"data: ", b"[DONE]"


class VllmMetrics:
    """Watches the replies of one node's model. It has no cache: `kv_cache_usage_perc` is the batch's fill."""

    def __init__(self, node: Node, clock: Clock = time.monotonic) -> None:
        self._node = node
        self._clock = clock
        self._registry = registry = CollectorRegistry()
        self._of_model = of_model = (node.calibration.model, "0")
        most = max(1, node.calibration.sequences)
        for name, told, look in (
            ("num_requests_running", "Sequences in the batch.", lambda: node.vlm.running),
            ("num_requests_waiting", "Sequences in the queue.", lambda: node.vlm.waiting),
            ("kv_cache_usage_perc", "Share in use, 1 for all.", lambda: min(1.0, node.vlm.running / most)),
        ):
            Gauge(f"vllm:{name}", told, _LABELS, registry=registry).labels(*of_model).set_function(look)
        self._counts = {
            name: Counter(f"vllm:{name}", told, _LABELS, registry=registry).labels(*of_model)
            for name, told in (
                ("prompt_tokens", "Tokens read."),
                ("generation_tokens", "Tokens written."),
                ("prefix_cache_queries", "Tokens looked for in the prefix cache."),
                ("prefix_cache_hits", "Tokens found there."),
                ("num_preemptions", "Sequences thrown out of the batch; none here."),
            )
        }
        self._ended = Counter(
            "vllm:request_success",
            "Requests by why they ended.",
            (*_LABELS, "finished_reason"),
            registry=registry,
        )
        self._seconds = {
            name: Histogram(f"vllm:{name}", told, _LABELS, buckets=limits, registry=registry).labels(
                *of_model
            )
            for name, told, limits in (
                ("time_to_first_token_seconds", "To the first token.", _FIRST_S),
                ("inter_token_latency_seconds", "Between two tokens, a request's mean.", _STEP_S),
                ("e2e_request_latency_seconds", "Whole requests.", _WHOLE_S),
                ("request_queue_time_seconds", "Before a request joined the batch.", _WHOLE_S),
                ("request_prefill_time_seconds", "From there to its first token.", _WHOLE_S),
                ("request_decode_time_seconds", "From there to its last.", _WHOLE_S),
            )
        }

    @property
    def families(self) -> frozenset[str]:
        """Their names; a counter's without its `_total`."""
        return frozenset(family.name for family in self._registry.collect())

    async def handle(self, request: StandInRequest) -> StandInReply:
        """The node's reply, counted while it is read; or what Prometheus reads. Refusals are not counted, as
        vLLM does not."""
        if request.path == PATH:
            return whole_reply(200, CONTENT_TYPE_LATEST, generate_latest(self._registry))
        reply = await self._node.handle(VLM, request)
        if (request.method, reply.status) != ("POST", 200):
            return reply
        return replace(reply, body=self._watch(reply))

    async def _watch(self, reply: StandInReply) -> AsyncGenerator[bytes, None]:
        asked, first, last = self._clock(), 0.0, b""
        try:
            async with aclosing(reply.body):
                async for piece in reply.body:
                    first, last = first or self._clock(), piece
                    yield piece
        finally:
            reason = "stop" if _DONE in last else "abort"
            self._ended.labels(*self._of_model, reason).inc()
            self._observe(asked, reply.began(), first, last)

    def _observe(self, asked: float, began: float | None, first: float, last: bytes) -> None:
        now = self._clock()
        if first:
            self._seconds["time_to_first_token_seconds"].observe(first - asked)
        usage = _usage(last)
        if usage is None:
            return
        read, written = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
        self._seconds["e2e_request_latency_seconds"].observe(now - asked)
        if began is not None:
            self._seconds["request_queue_time_seconds"].observe(began - asked)
            self._seconds["request_prefill_time_seconds"].observe(first - began)
            self._seconds["request_decode_time_seconds"].observe(now - first)
        if written > 1:
            self._seconds["inter_token_latency_seconds"].observe((now - first) / (written - 1))
        found = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
        for name, amount in (
            ("prompt_tokens", read),
            ("generation_tokens", written),
            ("prefix_cache_queries", read),
            ("prefix_cache_hits", found),
        ):
            self._counts[name].inc(amount)


def _usage(piece: bytes) -> dict[str, Any] | None:
    """What a reply's last event says that it cost; nothing where it was cut short or that was not asked."""
    for line in piece.split(b"\n"):
        if line.startswith(_OPENED) and b'"usage"' in line:
            usage: dict[str, Any] | None = json.loads(line.removeprefix(_OPENED)).get("usage")
            return usage
    return None
