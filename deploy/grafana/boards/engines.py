"""Rows of the models dashboard: engines, caches, indexes and processes."""

from deploy.grafana.boards.conventions import SERVICE_COLOURS
from deploy.grafana.panels import GREEN, RED, Kind, Panel, Query, Row, Threshold, Unit
from deploy.grafana.promql import mean, or_zero, per_second, quantile

_HITS = per_second("loreglass_cache_lookups_total", "service, cache", 'outcome="hit"')
_QDRANT = "rest_responses_duration_seconds"

ENGINES = Row(
    "Engines",
    (
        Panel(
            "Items in a forward pass",
            Kind.TIMESERIES,
            "Mean batch by forward. 1 with many callers waiting: the batcher does not find them together.",
            (
                Query(
                    or_zero(mean("loreglass_batch_items", "service, forward"), service="none", forward=""),
                    "{{service}} {{forward}}",
                ),
            ),
            width=6,
        ),
        Panel(
            "Running and waiting calls",
            Kind.TIMESERIES,
            "Calls in each service's engines, and behind them; within an engine, items that the model's next"
            " batches will take. Waiting for long: more replicas or a larger batch.",
            (
                Query("sum by (service) (loreglass_engine_running)", "{{service}}"),
                Query(
                    "sum by (service) (loreglass_engine_waiting) > 0 or on() vector(0)", "{{service}} waiting"
                ),
                Query(
                    "sum by (service, forward) (loreglass_batch_waiting_items) > 0 or on() vector(0)",
                    "{{service}} {{forward}} items for a batch",
                ),
            ),
            width=6,
            steps=True,
            colours=SERVICE_COLOURS,
        ),
        Panel(
            "Turned away, out of time",
            Kind.TIMESERIES,
            "Calls that a service refused because its queue was full, and those that it stopped because"
            " nobody waits for them any more. The gateway degrades the answer.",
            (
                Query(per_second("loreglass_engine_refused_total", "service"), "{{service}}"),
                Query(
                    or_zero(per_second("loreglass_deadline_exceeded_total", "service"), service="all"),
                    "{{service}} out of time",
                ),
            ),
            Unit.PER_SECOND,
            width=6,
            colours=SERVICE_COLOURS,
        ),
        Panel(
            "Cache hits",
            Kind.TIMESERIES,
            "Share of look-ups that found something, by service and cache. Follow-ups about one photo hit"
            " OCR's cache.",
            (
                Query(
                    or_zero(
                        f"{_HITS} / ({per_second('loreglass_cache_lookups_total', 'service, cache')} > 0)",
                        service="none",
                        cache="",
                    ),
                    "{{service}} {{cache}}",
                ),
            ),
            Unit.SHARE,
            width=6,
            maximum=1.0,
        ),
    ),
)

KEPT = Row(
    "Indexes and processes",
    (
        Panel(
            "Published points",
            Kind.BAR_GAUGE,
            "What searches find in, by alias. 0 after an upgrade: the alias points to an empty version;"
            " roll back.",
            (Query("max by (service, alias) (loreglass_collection_points)", "{{service}} {{alias}}"),),
            width=5,
            thresholds=(Threshold(1, GREEN),),
            base=RED,
            decimals=0,
        ),
        Panel(
            "Ingestion",
            Kind.TIMESERIES,
            "Points and records written a second.",
            (
                Query(
                    or_zero(per_second("loreglass_ingested_total", "service, kind"), service="none", kind=""),
                    "{{service}} {{kind}}",
                ),
            ),
            Unit.OPS,
            width=5,
        ),
        Panel(
            "Qdrant's replies",
            Kind.TIMESERIES,
            "95 % of Qdrant's requests by method, from its own side; 0 where there is no server of it. Slow"
            " while an index is written: it builds its graph.",
            (
                Query(
                    or_zero(quantile(0.95, _QDRANT, "method", 'job="qdrant"'), method="none"),
                    "{{method}}",
                ),
            ),
            Unit.SECONDS,
            width=5,
        ),
        Panel(
            "Memory of the processes",
            Kind.TIMESERIES,
            "Resident. Grows for hours under steady traffic: a leak; the container's limit will restart it.",
            (Query("max by (job, instance) (process_resident_memory_bytes)", "{{job}} {{instance}}"),),
            Unit.BYTES,
            width=5,
        ),
        Panel(
            "Cores in use",
            Kind.TIMESERIES,
            "CPU seconds a second.",
            (
                Query(
                    "sum by (job, instance) (rate(process_cpu_seconds_total[$__rate_interval]))",
                    "{{job}} {{instance}}",
                ),
            ),
            width=4,
        ),
    ),
)
