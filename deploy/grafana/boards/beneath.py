"""A row of the latency budget: what lies beneath the stages."""

from deploy.grafana.boards.conventions import SERVICE_COLOURS, STAGE_COLOURS
from deploy.grafana.panels import Kind, Panel, Query, Row, Unit
from deploy.grafana.promql import GATEWAY, mean, most, or_zero, quantile

_STAGE = "loreglass_stage_seconds"
_SERVICES = "domain_router|cropper|image_search|text_search|reranker|verifier|ocr"
"""Stages that are named after the service whose call they are."""
_CALLS = f'service=~"{_SERVICES}|reader",method="POST",route!~"/v1/(collections|aliases).*"'
_STAGES = f'{GATEWAY},stage=~"{_SERVICES}"'
_SERVED = mean("loreglass_request_seconds", "service", _CALLS, "5m")

BENEATH = Row(
    "Beneath the stages",
    (
        Panel(
            "Services' own times",
            Kind.TIMESERIES,
            "95 % of each service's requests, from its own side. To be read beside the stage of the same"
            " name; the reader's beside those that ask it: draft, second hop, answer.",
            (
                Query(
                    quantile(0.95, "loreglass_request_seconds", "service", _CALLS),
                    "{{service}}",
                    exemplars=True,
                ),
            ),
            Unit.SECONDS,
            width=6,
            height=9,
            colours=SERVICE_COLOURS,
        ),
        Panel(
            "On the way to a service",
            Kind.TIMESERIES,
            "A stage's mean less its service's mean, of five minutes: waiting at the gateway's gates and card"
            " slots, and the network. Grows: the service takes fewer at once than are sent. Stages count when"
            " their question ends, a service's calls before that; where that is all the difference, 0.",
            (
                Query(
                    f"clamp_min({mean(_STAGE, 'stage', _STAGES, '5m')} - on(stage)"
                    f' label_replace({_SERVED}, "stage", "$1", "service", "(.*)"), 0)',
                    "{{stage}}",
                ),
            ),
            Unit.SECONDS,
            width=6,
            height=9,
            colours=STAGE_COLOURS,
        ),
        Panel(
            "Calls to the model",
            Kind.TIMESERIES,
            "Whole calls, 95 %, of the five slowest prompts. `understand` and `answer` are the two that a rag"
            " question needs.",
            (
                Query(
                    or_zero(
                        most(5, quantile(0.95, "loreglass_vlm_call_seconds", "prompt", GATEWAY), "prompt"),
                        prompt="none",
                    ),
                    "{{prompt}}",
                ),
            ),
            Unit.SECONDS,
            width=6,
            height=9,
        ),
        Panel(
            "Waiting for an engine",
            Kind.TIMESERIES,
            "How long the oldest call has waited for one of its service's engines.",
            (Query("max by (service) (loreglass_engine_oldest_wait_seconds)", "{{service}}"),),
            Unit.SECONDS,
            width=6,
            height=9,
            colours=SERVICE_COLOURS,
        ),
    ),
)
