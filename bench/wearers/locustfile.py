"""Wearers before a gateway: `locust -f bench/wearers/locustfile.py --host http://localhost:7100`.

They take a photo, ask about it, go on asking, and think in between; some follow the answer as it is written,
some ask what nobody can know. Three shapes (`--shape`): `wearers`, steady; `ramp`, up to many times as many
and back; `soak`, steady and long, with memory watched. In the end the service level objectives are held
against everything that came back; where one is missed, the exit status is 1.

It does the same with locust's web page, and with several processes (`--processes`). `make load` starts
platforms and runs it before them.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from locust import LoadTestShape, events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import WorkerRunner

from bench.wearers.material import load, plain
from bench.wearers.memory import NotTold, resident_bytes
from bench.wearers.notebook import NOTEBOOK
from bench.wearers.objectives import verdicts
from bench.wearers.records import Results
from bench.wearers.shape import Shape, wearers_at
from bench.wearers.wearer import Wearer

__all__ = ["Load", "Wearer"]

_LOG = logging.getLogger("loreglass.wearers")
_RAMP_S = 60.0
_GRACE_S = 15
_SAMPLES = 60


def _add_options(parser: LocustArgumentParser) -> None:
    parser.add_argument(
        "--shape",
        choices=[each.value for each in Shape],
        default=Shape.WEARERS.value,
        help="steady, an overload and back, or long with memory watched",
    )
    parser.add_argument("--wearers-material", default="", metavar="FOLDER", help="photos and asked.jsonl")
    parser.add_argument("--wearers-think", type=float, default=4.0, help="seconds between questions, mean")
    parser.add_argument("--wearers-overload", type=float, default=5.0, help="times --users, the ramp's peak")
    parser.add_argument("--wearers-streams", type=float, default=0.25, help="share that follow the stream")
    parser.add_argument("--wearers-deadline-ms", type=int, default=10_000, help="what they will wait")
    parser.add_argument("--wearers-transport-ms", type=int, default=500, help="on top, for the way there")
    parser.add_argument("--wearers-pipeline", default="", help="another than the default one")
    parser.add_argument("--wearers-seed", type=int, default=1, help="of who asks what, and when")
    parser.add_argument("--wearers-watch", default="", help="more addresses whose memory is watched; commas")
    parser.add_argument("--wearers-results", default="", metavar="FILE", help="everything, as JSON")
    parser.add_argument(
        "--wearers-keys",
        default="",
        env_var="LOREGLASS_WEARERS_KEYS",
        is_secret=True,
        help="API keys that they take in turn; commas",
    )


def planned_seconds(options: Any) -> float:
    """How long the run is; 0 for until it is stopped, which a ramp cannot be."""
    return float(options.run_time or (_RAMP_S if options.shape == Shape.RAMP else 0))


def planned_wearers(options: Any) -> int:
    """How many the platform is asked to serve well."""
    return max(1, options.num_users or 1)


class Load(LoadTestShape):
    """Locust's own `--users`, `--spawn-rate` and `--run-time`, bent by `--shape`."""

    use_common_options = True

    def tick(self) -> tuple[int, float] | None:
        """How many wearers now, and how fast they come and go; None once the run is over."""
        assert self.runner is not None
        options = self.runner.environment.parsed_options
        assert options is not None
        seconds, at_s = planned_seconds(options), self.get_run_time()  # type: ignore[no-untyped-call]
        if seconds and at_s >= seconds:
            return None
        NOTEBOOK.wearers = wearers_at(
            Shape(options.shape), at_s, seconds, planned_wearers(options), options.wearers_overload
        )
        return NOTEBOOK.wearers, max(float(options.spawn_rate or 1), NOTEBOOK.wearers / 2)


def _prepare(environment: Environment, **_: Any) -> None:
    options = environment.parsed_options
    assert options is not None
    NOTEBOOK.conversations = load(Path(options.wearers_material)) if options.wearers_material else plain()
    environment.stop_timeout = environment.stop_timeout or _GRACE_S


def _begin(environment: Environment, **_: Any) -> None:
    NOTEBOOK.begin()
    options, runner = environment.parsed_options, environment.runner
    assert options is not None
    if runner is None or isinstance(runner, WorkerRunner):
        return
    pause_s = max(1.0, planned_seconds(options) / _SAMPLES)
    for url in [environment.host or "", *options.wearers_watch.split(",")]:
        if url:
            runner.greenlet.spawn(_watch_memory, url.rstrip("/"), pause_s, NOTEBOOK.started)


def _watch_memory(url: str, pause_s: float, started: float) -> None:
    """For as long as this run goes on; where nothing is told, the soak's verdict will say so."""
    samples = NOTEBOOK.memory.setdefault(url, [])
    while NOTEBOOK.running and NOTEBOOK.started == started:
        try:
            samples.append((time.time(), resident_bytes(url)))
        except NotTold as error:
            _LOG.debug("%s", error)
        time.sleep(pause_s)


def _end(**_: Any) -> None:
    """Before locust's web page, hours may pass until it quits, and is judged."""
    NOTEBOOK.end()


def _stumbled(exception: BaseException, **_: Any) -> None:
    NOTEBOOK.stumbles.append(f"{type(exception).__name__}: {exception}")


def _hand_over(data: dict[str, Any], **_: Any) -> None:
    data["wearers"] = NOTEBOOK.hand_over()


def _take_over(data: dict[str, Any], **_: Any) -> None:
    NOTEBOOK.take_over(data["wearers"])


def _judge(environment: Environment, **_: Any) -> None:
    """Hold the objectives against the run, and leave with their verdict."""
    options = environment.parsed_options
    assert options is not None
    if isinstance(environment.runner, WorkerRunner):
        return
    run = Results(
        shape=options.shape,
        host=environment.host or "",
        users=planned_wearers(options),
        seconds=planned_seconds(options),
        started=NOTEBOOK.started,
        records=NOTEBOOK.records,
        memory=NOTEBOOK.memory,
    )
    found = verdicts(run, options.wearers_deadline_ms / 1000, NOTEBOOK.stumbles)
    run = replace(run, verdicts=tuple(found))
    for verdict in run.verdicts:
        _LOG.log(logging.INFO if verdict.held else logging.ERROR, "%s: %s", verdict.name, verdict.sentence)
    if options.wearers_results:
        run.write(Path(options.wearers_results))
    environment.process_exit_code = 0 if all(verdict.held for verdict in run.verdicts) else 1


_LISTENERS: dict[str, Callable[..., None]] = {
    "init_command_line_parser": _add_options,
    "init": _prepare,
    "test_start": _begin,
    "test_stop": _end,
    "user_error": _stumbled,
    "report_to_master": _hand_over,
    "worker_report": _take_over,
    "quitting": _judge,
}
for _name, _listener in _LISTENERS.items():
    getattr(events, _name).add_listener(_listener)
