"""What the calls to the models cost, by model and prompt."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from chassis.telemetry.metrics import exemplar
from gateway.llm.call import VlmCall
from gateway.llm.completion import Usage
from gateway.reasoning.calls import count_calls

_SECONDS = (0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 7.5, 10)


class VlmMetrics:
    """Counts and times; `observe`, with a model's name, is its client's observer."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "loreglass_vlm_calls_total",
            "Calls to the model.",
            ("model", "prompt", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "loreglass_vlm_call_seconds",
            "Whole calls.",
            ("model", "prompt"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._first_token = Histogram(
            "loreglass_vlm_first_token_seconds",
            "Time from the request to the first token.",
            ("model", "prompt"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._tokens = Counter(
            "loreglass_vlm_tokens_total",
            "Tokens as the server counts them: prompt, cached (of the prompt) and completion.",
            ("model", "prompt", "kind"),
            registry=registry,
        )
        self._forms = Counter(
            "loreglass_vlm_forms_total",
            "Calls with structured output, by how the schema was enforced.",
            ("model", "form"),
            registry=registry,
        )
        self._repeats = Counter(
            "loreglass_vlm_repeated_requests_total",
            "Retried requests of a call: the server refused a part, or the connection was stale.",
            ("model",),
            registry=registry,
        )

    def observe(self, model: str, call: VlmCall) -> None:
        """Count one call that is over, for the model and for the question that it belongs to."""
        usage = call.usage or Usage(0, 0)
        count_calls(call.requests, usage.prompt_tokens, usage.completion_tokens)
        self._calls.labels(model, call.prompt, call.outcome).inc()
        self._seconds.labels(model, call.prompt).observe(call.seconds, exemplar())
        if call.first_token_s is not None:
            self._first_token.labels(model, call.prompt).observe(call.first_token_s, exemplar())
        if call.form is not None:
            self._forms.labels(model, call.form.value).inc()
        self._repeats.labels(model).inc(max(0, call.requests - 1))
        if call.usage is not None:
            self._tokens.labels(model, call.prompt, "prompt").inc(call.usage.prompt_tokens)
            self._tokens.labels(model, call.prompt, "cached").inc(call.usage.cached_tokens or 0)
            self._tokens.labels(model, call.prompt, "completion").inc(call.usage.completion_tokens)
