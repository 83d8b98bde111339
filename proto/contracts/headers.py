"""Header names that every service understands."""

DEADLINE = "X-Deadline-Ms"
"""Milliseconds the caller still has. Remaining time, not a clock reading: clocks differ."""

TRACE = "X-Trace-Id"
"""32 lower-case hex digits (the trace-id of W3C trace context)."""

PRIORITY = "X-Priority"
"""`interactive`, `standard` or `background`; the gateway lowers it to what the caller's key allows."""

CACHE_SCOPE = "X-Cache-Scope"
"""32 lower-case hex digits, between gateway and services: what is cached in one scope, no other one sees."""

IDEMPOTENCY_KEY = "Idempotency-Key"
"""1 to 128 visible ASCII characters: a request sent again under its key gets the first one's answer."""

MEMORY = "Loreglass-Memory"
"""The id of a memory, for `/v1/memory`."""

REPLAYED = "Idempotent-Replayed"
"""`true` on a reply that was kept under its key."""
