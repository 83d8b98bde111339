"""A model as judge, behind any endpoint that speaks OpenAI's chat completions."""

from dataclasses import dataclass, replace
from typing import Any

import anyio
import structlog

from evaluation.data.model import EvaluationError
from evaluation.judging import prompt
from evaluation.judging.text import refusal_by_all
from evaluation.judging.verdicts import Case, Judgement, Verdict

log = structlog.get_logger()

MODEL = "model:"
"""What the names of such judges begin with."""
TIMEOUT_S = 60.0
TRIES = 5
_MAX_TOKENS = 2048
_LONGEST_PAUSE_S = 60.0  # that the library takes from a Retry-After
_KEYLESS = "none"  # local servers want no key, the library wants one


class JudgeError(EvaluationError):
    """The judge cannot be used at all; the message says what to do."""


_LIMIT, _OLDER_LIMIT = "max_completion_tokens", "max_tokens"


@dataclass(frozen=True, slots=True)
class _Manner:
    """How verdicts are asked for. Servers that refuse a manner are asked in the next plainer one."""

    form: dict[str, Any] | None
    temperature: float | None = 0.0
    limit: str = _LIMIT


_FORMS: tuple[dict[str, Any] | None, ...] = (
    {"type": "json_schema", "json_schema": prompt.SCHEMA},
    {"type": "json_object"},
    None,
)


class ModelJudge:
    """CRAG-MM's judge with a model of your choice. Use it as a context: it holds connections.

    Asks nothing where no protocol would: for failed requests, for refusals by the words of both kits, and for
    answers that repeat the gold sentence. Too many requests, server errors and timeouts are tried again with
    growing pauses (a server's Retry-After is heeded); then the judgement has `failed`.
    """

    def __init__(
        self, base_url: str, model: str, key: str = "", *, timeout_s: float = TIMEOUT_S, tries: int = TRIES
    ) -> None:
        """Raises `JudgeError` where the library is not installed, or no endpoint or model is named."""
        if not base_url or not model:
            raise JudgeError(
                "A model judge needs an endpoint and a model: --base-url and --model, "
                "or LOREGLASS_JUDGE_URL and LOREGLASS_JUDGE_MODEL."
            )
        try:
            import openai
        except ImportError as error:
            raise JudgeError("A model judge needs: pip install 'loreglass[evaluation-judge]'") from error
        self._model = model
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=key or _KEYLESS, timeout=timeout_s, max_retries=tries - 1
        )
        self._manner = _Manner(_FORMS[0])
        self._longest_s = tries * timeout_s + (tries - 1) * _LONGEST_PAUSE_S

    @property
    def name(self) -> str:
        """`model:` and the model."""
        return MODEL + self._model

    @property
    def version(self) -> str:
        """Of the rules that it is told."""
        return prompt.VERSION

    async def __aenter__(self) -> "ModelJudge":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def judge(self, case: Case) -> Judgement:
        """The verdict; whatever goes wrong is a judgement that failed."""
        return undisputed(case) or await self._ask(case)

    async def _ask(self, case: Case) -> Judgement:
        import openai

        try:
            with anyio.fail_after(self._longest_s):  # the library's limit begins anew with every byte
                reply = await self._reply(case)
        except TimeoutError:
            return _failure("the endpoint took too long")
        except openai.APIStatusError as error:
            return _failure(f"the endpoint answered {error.status_code}")
        except openai.APITimeoutError:
            return _failure("the endpoint took too long")
        except openai.APIConnectionError:
            return _failure("the endpoint could not be reached")
        except (openai.OpenAIError, ValueError) as error:
            return _failure(f"the endpoint's answer was unusable ({type(error).__name__})")
        judgement = prompt.read(reply)
        if judgement is None:
            log.warning("verdict_unreadable", interaction_id=case.interaction_id, characters=len(reply))
            return _failure("the verdict could not be read")
        return judgement

    async def _reply(self, case: Case) -> str:
        """The model's words, asked for in the best manner that the server takes.

        A plainer manner is remembered once it has worked: a server may refuse a single answer in every one.
        """
        import openai

        manner = before = self._manner
        while True:
            try:
                words = await self._complete(case, manner)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                plainer = _plainer(manner, str(error))
                if plainer is None:
                    raise
                manner = plainer
                continue
            if manner != before:
                self._manner = manner
                log.info("judge_asked_plainer", form=(manner.form or {}).get("type", "text"))
            return words

    async def _complete(self, case: Case, manner: _Manner) -> str:
        options: dict[str, Any] = {manner.limit: _MAX_TOKENS}
        if manner.form is not None:
            options["response_format"] = manner.form
        if manner.temperature is not None:
            options["temperature"] = manner.temperature
        chat: Any = prompt.messages(case.question, case.gold, case.answer)
        completion = await self._client.chat.completions.create(model=self._model, messages=chat, **options)
        return _words(completion)


def version_of(judge: str) -> str:
    """Of the rules that the judge of that name is told, now; only models are told any."""
    return prompt.VERSION if judge.startswith(MODEL) else ""


def undisputed(case: Case) -> Judgement | None:
    """The judgement that both kits make without asking a judge; None where they would ask."""
    if case.failed:
        return Judgement(Verdict.MISSING, "the request failed")
    if refusal_by_all(case.answer):
        return Judgement(Verdict.MISSING, "refused")
    if case.answer.strip().lower() == case.gold.strip().lower():
        return Judgement(Verdict.CORRECT, "exact")
    return None


def _plainer(manner: _Manner, complaint: str) -> _Manner | None:
    if manner.limit == _LIMIT and _LIMIT in complaint:
        return replace(manner, limit=_OLDER_LIMIT)
    if manner.temperature is not None and "temperature" in complaint.lower():
        return replace(manner, temperature=None)
    position = _FORMS.index(manner.form)
    return replace(manner, form=_FORMS[position + 1]) if position + 1 < len(_FORMS) else None


def _words(completion: object) -> str:
    """The text of the first choice; the library checks nothing, so a server may have sent anything."""
    choices = getattr(completion, "choices", None)
    message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
    content = getattr(message, "content", None)
    return content if isinstance(content, str) else ""


def _failure(why: str) -> Judgement:
    return Judgement(Verdict.INCORRECT, why, failed=True)
