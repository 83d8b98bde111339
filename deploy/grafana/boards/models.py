"""The models: what each holds of its card against the plan, and what the vision-language model does."""

from deploy.grafana.boards.conventions import GATEWAYS, ROUTES
from deploy.grafana.boards.engines import ENGINES, KEPT
from deploy.grafana.boards.machine import MACHINE
from deploy.grafana.panels import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    YELLOW,
    Dashboard,
    Kind,
    Panel,
    Query,
    Row,
    Threshold,
    Unit,
)
from deploy.grafana.promql import GATEWAY, mean, or_zero, per_second, quantile, share

_PEAK = f"max by (service, gpu) (loreglass_placement_peak_bytes{{{GATEWAY}}})"
_PLANNED = f"max by (service, gpu) (loreglass_placement_planned_bytes{{{GATEWAY}}})"
_VLM = 'job="vlm"'
_PHASES = " or ".join(
    f'label_replace({mean(f"vllm:request_{phase}_time_seconds", "", _VLM)}, "phase", "{phase}", "", "")'
    for phase in ("queue", "prefill", "decode")
)

_MEMORY = Row(
    "GPU memory",
    (
        Panel(
            "Peak of the planned memory",
            Kind.BAR_GAUGE,
            "The most that each service has held on its card, as a share of what `loreglass plan` gave it:"
            " near 100 % is what was planned. Over 100 %: somebody else on that card will run out; lower the"
            " service's batch or plan anew.",
            (
                Query(
                    or_zero(f"{_PEAK} / ({_PLANNED} > 0)", service="no plan", gpu="–"),
                    "{{service}} · GPU {{gpu}}",
                ),
            ),
            Unit.SHARE,
            width=7,
            thresholds=(Threshold(1, RED),),
            maximum=1.0,
            alert="placement-memory-over-plan",
        ),
        Panel(
            "Planned and peak",
            Kind.TABLE,
            "Bytes by service and card, from the plan and from the services' /info; differs: 1 where a"
            " service is over its share or not on its planned card.",
            (
                Query(or_zero(_PLANNED, service="no plan", gpu="–"), "planned"),
                Query(or_zero(_PEAK, service="no plan", gpu="–"), "peak"),
                Query(
                    or_zero(
                        f"max by (service) (loreglass_placement_differs{{{GATEWAY}}})"
                        f" * on(service) group_right {_PLANNED} ^ 0",
                        service="no plan",
                        gpu="–",
                    ),
                    "differs",
                    unit=Unit.NUMBER,
                ),
            ),
            Unit.BYTES,
            sort_by="planned",
            columns=("service", "gpu"),
            base="text",
        ),
        Panel(
            "Cards in use",
            Kind.TIMESERIES,
            "Expected GPU time of the small models' calls that are on a card at once. At the plan's burst"
            " (100 ms) the next call waits, so that decoding is not starved.",
            (
                Query(
                    or_zero(f"max by (gpu) (loreglass_card_in_use_seconds{{{GATEWAY}}})", gpu="none"),
                    "GPU {{gpu}}",
                ),
            ),
            Unit.SECONDS,
            width=4,
            thresholds=(Threshold(0.1, ORANGE),),
            steps=True,
        ),
        Panel(
            "The engines' own account",
            Kind.BAR_GAUGE,
            "Each GPU service's peak as a share of what it may hold, from its allocator. 0: no engine here"
            " is on a GPU. Yellow: the next larger batch may fail.",
            (
                Query(
                    or_zero(
                        "max by (service, device) (loreglass_accelerator_memory_peak_bytes"
                        " / loreglass_accelerator_memory_share_bytes)",
                        service="none",
                        device="cpu",
                    ),
                    "{{service}} {{device}}",
                ),
            ),
            Unit.SHARE,
            width=5,
            thresholds=(Threshold(0.95, YELLOW), Threshold(1, RED)),
            maximum=1.0,
            alert="accelerator-memory-near-share",
        ),
    ),
)

_MODEL = Row(
    "The vision-language model",
    (
        Panel(
            "Calls in a question",
            Kind.TIMESERIES,
            "Mean calls to the model by route, retries counted. At most 2 on the direct route and 3 on"
            " rag; more is paid for by every other question.",
            (Query(mean("loreglass_question_vlm_calls", "route", GATEWAY), "{{route}}"),),
            width=5,
            colours=ROUTES,
            thresholds=(Threshold(3, ORANGE),),
        ),
        Panel(
            "Calls by prompt",
            Kind.TIMESERIES,
            "How fast the model is asked what, and how it ended.",
            (
                Query(
                    or_zero(
                        per_second("loreglass_vlm_calls_total", "prompt, outcome", GATEWAY),
                        prompt="none",
                        outcome="",
                    ),
                    "{{prompt}} {{outcome}}",
                ),
            ),
            Unit.PER_SECOND,
            width=5,
            stacked=True,
        ),
        Panel(
            "Calls by form",
            Kind.TIMESERIES,
            "How the reply's form was asked for: json_schema is held by the server, words by nobody. Again:"
            " requests that were refused for an ability, or met a stale connection.",
            (
                Query(
                    or_zero(per_second("loreglass_vlm_forms_total", "form", GATEWAY), form="none"),
                    "{{form}}",
                ),
                Query(or_zero(per_second("loreglass_vlm_repeated_requests_total", "", GATEWAY)), "again"),
            ),
            Unit.PER_SECOND,
            width=5,
        ),
        Panel(
            "Tokens",
            Kind.TIMESERIES,
            "As the server counts them: read (of which cached: from the prefix cache) and written. Written"
            " tokens are what the card's bandwidth limits.",
            (
                Query(or_zero(per_second("vllm:generation_tokens_total", "", _VLM)), "written"),
                Query(or_zero(per_second("vllm:prompt_tokens_total", "", _VLM)), "read"),
                Query(
                    or_zero(per_second("loreglass_vlm_tokens_total", "", f'{GATEWAY},kind="cached"')),
                    "of it cached",
                ),
            ),
            Unit.OPS,
            width=4,
            colours={"written": GREEN, "read": BLUE, "of it cached": "#8ab8ff"},
        ),
        Panel(
            "First token",
            Kind.TIMESERIES,
            "From the request to the first token: queue, photo and prompt. Seen by the gateway and by the"
            " server; the difference is the network.",
            (
                Query(
                    or_zero(quantile(0.5, "loreglass_vlm_first_token_seconds", "", GATEWAY)), "gateway half"
                ),
                Query(
                    or_zero(quantile(0.95, "loreglass_vlm_first_token_seconds", "", GATEWAY)), "gateway 95 %"
                ),
                Query(or_zero(quantile(0.95, "vllm:time_to_first_token_seconds", "", _VLM)), "server 95 %"),
            ),
            Unit.SECONDS,
            width=5,
            colours={"gateway half": GREEN, "gateway 95 %": YELLOW, "server 95 %": PURPLE},
        ),
        Panel(
            "Where a call's time goes",
            Kind.TIMESERIES,
            "Means of the server's own account, stacked: queue, before a sequence joins the batch; prefill,"
            " reading photo and prompt; decode, writing. Queue: let in fewer, or add a card. Prefill: less"
            " evidence. Decode: shorter answers, or a batch that is too large.",
            (Query(or_zero(_PHASES, phase="none"), "{{phase}}"),),
            Unit.SECONDS,
            width=5,
            colours={"queue": RED, "prefill": BLUE, "decode": GREEN},
            stacked=True,
        ),
        Panel(
            "Running and waiting",
            Kind.TIMESERIES,
            "Sequences in vLLM. The gateway lets in as many as run at once, so waiting should stay 0; if"
            " it does not, somebody else uses the model or the limits differ.",
            (
                Query(or_zero(f"sum(vllm:num_requests_running{{{_VLM}}})"), "running"),
                Query(or_zero(f"sum(vllm:num_requests_waiting{{{_VLM}}})"), "waiting"),
            ),
            width=6,
            steps=True,
            colours={"running": GREEN, "waiting": RED},
            alert="model-down",
        ),
        Panel(
            "KV cache in use",
            Kind.TIMESERIES,
            "Share of vLLM's memory for contexts. Near 100 % sequences are preempted and read again: fewer"
            " at once, or a shorter context.",
            (
                Query(
                    or_zero(
                        f"max(vllm:kv_cache_usage_perc{{{_VLM}}}) or max(vllm:gpu_cache_usage_perc{{{_VLM}}})"
                    ),
                    "in use",
                ),
                Query(or_zero(per_second("vllm:num_preemptions_total", "", _VLM)), "preempted a second"),
            ),
            Unit.SHARE,
            width=6,
            maximum=1.0,
            colours={"in use": BLUE, "preempted a second": RED},
            thresholds=(Threshold(0.9, ORANGE),),
        ),
        Panel(
            "Prefix cache",
            Kind.TIMESERIES,
            "Share of prompt tokens that were not read again because an earlier prompt began alike (the"
            " photo, mostly). 0 where the model's preset has no prefix caching (Llama 3.2 Vision).",
            (
                Query(
                    share(
                        per_second("vllm:prefix_cache_hits_total", "", _VLM),
                        per_second("vllm:prefix_cache_queries_total", "", _VLM),
                    ),
                    "server",
                ),
                Query(
                    share(
                        per_second("loreglass_vlm_tokens_total", "", f'{GATEWAY},kind="cached"'),
                        per_second("loreglass_vlm_tokens_total", "", f'{GATEWAY},kind="prompt"'),
                    ),
                    "gateway",
                ),
            ),
            Unit.SHARE,
            width=6,
            maximum=1.0,
            colours={"server": PURPLE, "gateway": GREEN},
        ),
        Panel(
            "Time a token",
            Kind.TIMESERIES,
            "Half and 95 % of the times between two tokens of a sequence: the decode step. The plan"
            " computes 15 ms alone and more with each sequence beside it.",
            (
                Query(
                    or_zero(
                        f"{quantile(0.5, 'vllm:inter_token_latency_seconds', '', _VLM)} or"
                        f" {quantile(0.5, 'vllm:time_per_output_token_seconds', '', _VLM)}"
                    ),
                    "half",
                ),
                Query(
                    or_zero(
                        f"{quantile(0.95, 'vllm:inter_token_latency_seconds', '', _VLM)} or"
                        f" {quantile(0.95, 'vllm:time_per_output_token_seconds', '', _VLM)}"
                    ),
                    "95 %",
                ),
            ),
            Unit.SECONDS,
            width=6,
            colours={"half": GREEN, "95 %": YELLOW},
        ),
    ),
)

MODELS = Dashboard(
    uid="loreglass-models",
    title="Loreglass: models and placement",
    description="What the models hold of the cards against the plan, and how the work runs through them.",
    rows=(_MEMORY, _MODEL, ENGINES, KEPT, MACHINE),
    variables=(GATEWAYS,),
)
