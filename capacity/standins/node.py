"""The stand-in node: model services and vLLM on one card, as stations whose times are drawn and whose queues
are real.
"""

import random
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from capacity.standins import chat
from capacity.standins.calibration import MODEL_SERVICES, SERVICES, VLM, Calibration
from capacity.standins.chat import ChatCall, RefusedChat, Transcript
from capacity.standins.counts import Counts
from capacity.standins.decoding import ContinuousBatch, Running
from capacity.standins.exchange import (
    StandInReply,
    StandInRequest,
    json_reply,
    problem_reply,
    whole_reply,
)
from capacity.standins.replies import ROUTES
from capacity.standins.stations import Station
from capacity.standins.writing import cut, written
from chassis.errors import LoreglassError, MethodNotAllowed, NotFound
from chassis.resilience.deadlines import Clock, Deadline
from contracts.operations import Health, Info

_CHAT = "/v1/chat/completions"
_PROBED = '{"kind": "by-the-schema", "words": []}'


@dataclass(frozen=True, slots=True)
class Slowness:
    """So many times longer takes a `share` of the calls."""

    factor: float = 1.0
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.factor < 1 or not 0 <= self.share <= 1:
            raise ValueError("A slowness has a factor from 1 and a share in 0..1.")


class Node:
    """Serves every route that the gateway calls, by the name of the service.

    Closing a reply's body, or cancelling `handle`, frees what the call held. Random draws follow `seed`, a
    series for each service, so that one service's calls do not change another's times.
    """

    def __init__(self, calibration: Calibration, seed: int, clock: Clock = time.monotonic) -> None:
        self.calibration = calibration
        self.counts: Mapping[str, Counts] = {name: Counts() for name in SERVICES}
        self.slowness: dict[str, Slowness] = {}
        self.memory_peak_mib: dict[str, int] = dict(calibration.memory_mib)
        self._clock = clock
        self._random = {name: random.Random(f"{seed} {name}") for name in SERVICES}
        self._chat_numbers = count(1)
        self._pick_slow = {name: random.Random(f"{seed} {name} slow") for name in SERVICES}
        self.stations: Mapping[str, Station] = {
            name: Station(calibration.concurrency[name], calibration.queue, self.counts[name], clock)
            for name in MODEL_SERVICES
        }
        self.vlm = ContinuousBatch(
            calibration.sequences,
            calibration.speed,
            self._step_ms,
            clock,
            calibration.openings,
            calibration.stream_interval,
        )

    async def handle(self, service: str, request: StandInRequest) -> StandInReply:
        """The reply of `service`, after as long as it takes. Raises `ValueError` for no such service."""
        if service == VLM:
            return self._handle_vlm(request)
        if service not in self.stations:
            raise ValueError(f"There is no stand-in for {service}.")
        try:
            return await self._handle_service(service, request)
        except LoreglassError as error:
            return problem_reply(error)

    async def _handle_service(self, service: str, request: StandInRequest) -> StandInReply:
        """Raises `LoreglassError`s as the real service does."""
        if request.path == "/info":
            return json_reply(self._info(service))
        if request.path in ("/health/live", "/health/ready"):
            return json_reply(Health(status="ok", checks={"engine": "ok"}))
        read = ROUTES.get((service, request.path))
        if read is None:
            raise NotFound
        if request.method != "POST":
            raise MethodNotAllowed
        deadline = request.deadline(self._clock)
        with self.counts[service].counted(deadline):
            job = read(request)
            await self.stations[service].work(self._service_ms(service, job.items), deadline)
            return json_reply(job.reply())

    def _service_ms(self, service: str, items: int) -> float:
        latency = self.calibration.service(service)
        spread = self._random[service].lognormvariate(0.0, latency.sigma)
        return latency.median_ms(items) * spread * self._slowed(service)

    def _slowed(self, service: str) -> float:
        slowness = self.slowness.get(service)
        if slowness is None or self._pick_slow[service].random() >= slowness.share:
            return 1.0
        return slowness.factor

    def _info(self, service: str) -> Info:
        share = self.calibration.memory_mib.get(service, 0)
        return Info(
            service=service,
            version="stand-in",
            engine="stand-in",
            device="cuda:0" if share else "cpu",
            dtype="bfloat16" if share else "float32",
            memory_mib=share,
            memory_peak_mib=self.memory_peak_mib.get(service, 0),
        )

    def _step_ms(self, batch: int) -> float:
        beside = sum(
            station.working for name, station in self.stations.items() if name in self.calibration.beside_vlm
        )
        return self.calibration.step_ms(batch, beside)

    def _handle_vlm(self, request: StandInRequest) -> StandInReply:
        if request.path == "/health":
            return whole_reply(200, "text/plain", b"")
        if request.path == "/v1/models":
            return chat.models(self.calibration.model)
        if (request.method, request.path) != ("POST", _CHAT):
            return chat.vllm_error(404, "Not Found", "NotFoundError")
        try:
            call = chat.read_call(request.content, self.calibration.photo_tokens)
            transcript = self._transcript(call)
            deadline = request.deadline(self._clock)
        except RefusedChat as error:
            self.counts[VLM].turned_away()
            return chat.refusal(error)
        except LoreglassError as error:
            self.counts[VLM].turned_away()
            return problem_reply(error)
        if call.model != self.calibration.model:
            self.counts[VLM].turned_away()
            return chat.vllm_error(404, f"The model `{call.model}` does not exist.", "NotFoundError", "model")
        content_type = {"content-type": "text/event-stream; charset=utf-8"}
        sequence = Running(call.prompt, transcript.tokens, 1 / self._slowed(VLM))
        body = self._stream(sequence, transcript, deadline)
        return StandInReply(200, content_type, body, lambda: sequence.began)

    def _transcript(self, call: ChatCall) -> Transcript:
        """What the model will write, and in how many tokens. Raises `RefusedChat`."""
        if call.name == "probe":  # at a gateway's start
            probed = _PROBED if self.calibration.holds_schema else "ready"
            return Transcript(call, cut(probed, 16), next(self._chat_numbers), self._random[VLM])
        usual = self.calibration.prompt(call.name)
        text = written(call.name, call.task, lines=not call.by_schema)
        if usual is None or text is None:
            raise RefusedChat(f"Nothing is known of the schema {call.name}.", "response_format")
        rng = self._random[VLM]
        tokens = round(chat.tokens_in(text) * rng.lognormvariate(0.0, usual.sigma))
        return Transcript(call, cut(text, tokens), next(self._chat_numbers), rng)

    async def _stream(
        self, sequence: Running, transcript: Transcript, deadline: Deadline | None
    ) -> AsyncGenerator[bytes, None]:
        """The events, as the batch writes the tokens. The sequence is queued when the body is first read.

        The last token comes with the end mark: a reader may leave after it, and has then had everything.
        """
        event, told = transcript.opening(), 0
        with self._in_batch(sequence, deadline):
            while (ready := await sequence.beyond(told)) < transcript.tokens:
                yield event + transcript.told(told, ready)
                event, told = b"", ready
        yield event + transcript.told(told, ready) + transcript.ending(sequence.cached_tokens)

    @contextmanager
    def _in_batch(self, sequence: Running, deadline: Deadline | None) -> Iterator[None]:
        """The sequence from the queue to its last token, or until its caller leaves."""
        counts = self.counts[VLM]
        self.vlm.submit(sequence)
        try:
            with counts.counted(deadline):
                yield
        finally:
            self.vlm.leave(sequence)
            if sequence.began is not None:
                spent = (self._clock() - sequence.began) * 1000
                counts.spent(spent, wasted=sequence.written < sequence.tokens)
