"""A row of the latency budget: what lies beneath the stages."""

from deploy.grafana.boards.conventions import SERVICE_COLOURS, STAGE_COLOURS
from deploy.grafana.panels import Kind, Panel, Query, Row, Unit
from deploy.grafana.promql import GATEWAY, mean, or_zero, quantile

_STAGE = "loreglass_stage_seconds"
_SERVICES = "domain_router|cropper|image_search|text_search|reranker|verifier|ocr"
"""Stages that are named after the service whose call they are."""
_CALLS = f'service=~"{_SERVICES}|reader",method="POST"'
_STAGES = f'{GATEWAY},stage=~"{_SERVICES}"'
_SERVED = mean("loreglass_request_seconds", "service", _CALLS)

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
            "A stage's mean less its service's mean: waiting at the gateway's gates and card slots, and"
            " the network. Grows: the service takes fewer at once than are sent.",
            (
                Query(
                    f"{mean(_STAGE, 'stage', _STAGES)} - on(stage)"
                    f' label_replace({_SERVED}, "stage", "$1", "service", "(.*)")',
                    "{{stage}}",
                ),
            ),
            Unit.SECONDS,
            width=6,
            height=9,
            colours=STAGE_COLOURS,
            minimum=None,
        ),
        Panel(
            "Calls to the model",
            Kind.TIMESERIES,
            "Whole calls by prompt, half and 95 %. `understand` and `answer` are the two that a rag question"
            " needs.",
            (
                Query(
                    or_zero(quantile(0.5, "loreglass_vlm_call_seconds", "prompt", GATEWAY), prompt="none"),
                    "{{prompt}} half",
                ),
                Query(
                    or_zero(quantile(0.95, "loreglass_vlm_call_seconds", "prompt", GATEWAY), prompt="none"),
                    "{{prompt}} 95 %",
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
