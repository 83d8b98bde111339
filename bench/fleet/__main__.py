"""`python -m bench.fleet`: the stand-ins on loopback sockets, until told to stop."""

import argparse
import json
import math
import sys
from collections.abc import Sequence

import anyio
from pydantic import TypeAdapter

from bench.fleet.serving import serving
from capacity.standins import SERVICES, Calibration, Node
from chassis.http.serving import until_signalled


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one JSON line with the addresses, then serve until SIGINT or SIGTERM."""
    given = _parser().parse_args(arguments)
    calibration = Calibration.l40s().scaled(given.scale)
    if given.attached:
        calibration = TypeAdapter(Calibration).validate_json(sys.stdin.readline())
    node = Node(calibration, given.seed)
    try:
        anyio.run(_serve, node, _ports(given), given, backend_options={"use_uvloop": True})
    except (OSError, OverflowError) as error:
        sys.exit(f"The fleet cannot listen: {str(error).rstrip('.')}.")


async def _serve(node: Node, ports: dict[str, int], given: argparse.Namespace) -> None:
    async with serving(node, ports, given.seed) as served, anyio.create_task_group() as group:
        print(json.dumps({"services": dict(served.urls), "control": served.control}), flush=True)  # noqa: T201
        if given.attached:
            group.start_soon(_until_stdin_closes, group.cancel_scope)
        await until_signalled()
        group.cancel_scope.cancel()


async def _until_stdin_closes(scope: anyio.CancelScope) -> None:
    """Whoever started this holds the other end, and may die without a word."""
    await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
    scope.cancel()


def _ports(given: argparse.Namespace) -> dict[str, int]:
    names = given.only or SERVICES
    ports = {name: given.ports_from + place if given.ports_from else 0 for place, name in enumerate(names)}
    for assignment in given.port:
        name, _, port = assignment.partition("=")
        if name not in ports or not port.isdecimal():
            sys.exit(f"--port {assignment}: a service that is served, and a number.")
        ports[name] = int(port)
    return ports


def _factor(text: str) -> float:
    factor = float(text)
    if not 0 <= factor < math.inf:
        raise argparse.ArgumentTypeError("a factor is a number from 0")
    return factor


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench.fleet", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=SERVICES, metavar="SERVICE", help="serve these only")
    parser.add_argument("--ports-from", type=int, default=0, help="consecutive ports; 0 picks free ones")
    parser.add_argument("--port", action="append", default=[], metavar="SERVICE=PORT")
    parser.add_argument("--scale", type=_factor, default=1.0, help="times every latency of an L40S")
    parser.add_argument(
        "--attached",
        action="store_true",
        help="read a calibration from the first line of standard input, and end when it closes",
    )
    return parser


if __name__ == "__main__":
    main()
