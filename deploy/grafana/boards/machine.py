"""A row of the models dashboard: what exporters tell of the machine, where the operator runs them."""

from deploy.grafana.panels import BLUE, GREEN, ORANGE, RED, YELLOW, Kind, Panel, Query, Row, Threshold, Unit
from deploy.grafana.promql import or_zero, total

_HINT = " 0 where no exporter of it is named in deploy/prometheus/exporters."
_MIB = 2**20
_OF_DISKS = 'fstype!~"tmpfs|overlay|squashfs|ramfs"'
_BY = "instance, mountpoint"
_LEFT, _SIZE = (f"node_filesystem_{what}_bytes{{{_OF_DISKS}}}" for what in ("avail", "size"))

MACHINE = Row(
    "The machine, by its exporters",
    (
        Panel(
            "GPUs at work",
            Kind.TIMESERIES,
            "Share of the time in which something ran on the card (DCGM). High alone is no fault: one"
            f" sequence that decodes keeps a card busy.{_HINT}",
            (Query(or_zero("max by (gpu) (DCGM_FI_DEV_GPU_UTIL) / 100", gpu="–"), "GPU {{gpu}}"),),
            Unit.SHARE,
            width=6,
            maximum=1.0,
        ),
        Panel(
            "GPU memory in use",
            Kind.BAR_GAUGE,
            "Of the whole card, whoever holds it (DCGM). vLLM takes its share at once: nearly full is normal."
            f" What is over plan is in the panels above.{_HINT}",
            (
                Query(
                    or_zero(f"{_MIB} * max by (gpu) (DCGM_FI_DEV_FB_USED)", gpu="–"),
                    "GPU {{gpu}}",
                ),
            ),
            Unit.BYTES,
            width=6,
        ),
        Panel(
            "Redis",
            Kind.TIMESERIES,
            "Memory of sessions and quotas, and the most that it may take. Near it the sessions used least"
            f" go, and their follow-ups are refused.{_HINT}",
            (
                Query(or_zero("max(redis_memory_used_bytes)"), "in use"),
                Query(or_zero("max(redis_memory_max_bytes)"), "at most"),
            ),
            Unit.BYTES,
            width=6,
            colours={"in use": BLUE, "at most": ORANGE},
        ),
        Panel(
            "Disks, how full",
            Kind.BAR_GAUGE,
            "Full: indexes cannot be written, Redis and Prometheus stop. Remove old versions of indexes, or"
            f" images that nobody runs.{_HINT}",
            (
                Query(
                    or_zero(f"1 - {total(_LEFT, _BY)} / {total(_SIZE, _BY)}", instance="–", mountpoint=""),
                    "{{instance}} {{mountpoint}}",
                ),
            ),
            Unit.SHARE,
            width=6,
            base=GREEN,
            thresholds=(Threshold(0.8, YELLOW), Threshold(0.9, RED)),
            maximum=1.0,
            alert="ingestion-faults",
        ),
    ),
)
