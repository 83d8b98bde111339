"""`python -m deploy.weights`: fetches what the production engines need, and does nothing the second time."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import SettingsError

from deploy.weights.catalogue import SERVICES, Weights, environment, speech, vlm
from deploy.weights.fetching import fetch, present, remember
from deploy.weights.hub import CannotFetch, Hub
from deploy.weights.settings import HubSettings, WeightsSettings
from services.speech.presets import HEARS
from services.speech.presets import PRESETS as SPEECH_PRESETS
from services.vlm.presets import DEFAULT, PRESETS
from services.vlm.settings import serve_settings

_INTERRUPTED = 130  # as a shell has it
_LOOK_AGAIN_S = 5.0


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    try:
        settings, hub_settings = WeightsSettings(), HubSettings()
        arguments = _parser(settings, serve_settings().preset or DEFAULT).parse_args(argv)
        wanted = _wanted(arguments.preset, arguments.voice, arguments.only)
        if arguments.env:
            sys.stdout.write(environment(str(arguments.dir)))
        elif arguments.list:
            _list(wanted, arguments.dir)
        elif arguments.wait:
            wait(wanted, arguments.dir)
        else:
            _fetch(wanted, arguments.dir, Hub(hub_settings.read_token()), settings.revisions)
    except ValidationError as error:
        sys.exit(f"LOREGLASS_WEIGHTS_*: {error.errors(include_input=False)[0]['msg']}.")
    except SettingsError:
        sys.exit('LOREGLASS_WEIGHTS_REVISIONS is no JSON, such as {"BAAI/bge-large-en-v1.5": "main"}.')
    except (CannotFetch, ValueError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; what is there stays, and the next run goes on from it.\n")
        sys.exit(_INTERRUPTED)


def _parser(settings: WeightsSettings, preset: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.weights", description="Fetches the production engines' weights."
    )
    parser.add_argument("--dir", type=Path, default=settings.dir, help="where they go (%(default)s)")
    parser.add_argument("--preset", choices=PRESETS, default=preset, help="the VLM's (%(default)s)")
    fetched = [each.name for each in SPEECH_PRESETS.values() if each.repository]
    parser.add_argument(
        "--voice", type=_known(fetched), default=settings.voice, metavar="PRESET", help=", ".join(fetched)
    )
    names = sorted({app for weights in SERVICES for app in weights.used_by} | {"vlm", HEARS})
    parser.add_argument(
        "--only", nargs="+", type=_app, choices=names, default=names, metavar="APP", help=", ".join(names)
    )
    parser.add_argument("--list", action="store_true", help="only say what there is to fetch")
    parser.add_argument("--env", action="store_true", help="only print the services' settings (weights.env)")
    parser.add_argument("--wait", action="store_true", help="only wait until another run has fetched them")
    return parser


def _app(name: str) -> str:
    """A host's name is an app's, too: DNS knows no underscore."""
    return name.replace("-", "_")


def _known(names: Sequence[str]) -> Callable[[str], str]:
    """One of them or nothing, also where the environment says it: argparse looks at no default's choices."""

    def checked(name: str) -> str:
        if name and name not in names:
            raise argparse.ArgumentTypeError(f"no preset with weights to fetch; there are {', '.join(names)}")
        return name

    return checked


def _wanted(preset: str, voice: str, apps: Sequence[str]) -> tuple[Weights, ...]:
    spoken = (speech(SPEECH_PRESETS[voice]),) if voice else ()
    everything = (*SERVICES, vlm(PRESETS[preset]), *spoken)
    return tuple(weights for weights in everything if set(weights.used_by) & set(apps))


def _list(wanted: Sequence[Weights], root: Path) -> None:
    for weights in wanted:
        there = present(weights, root)
        state = f"there, {there.size / 1e9:.1f} GB" if there else f"to fetch, about {weights.gb} GB"
        sys.stdout.write(f"{weights.repository:55} {', '.join(weights.used_by):24} {state}\n")


def wait(wanted: Sequence[Weights], root: Path, pause: Callable[[float], object] = time.sleep) -> None:
    """Return when all of them are whole."""
    for weights in wanted:
        if present(weights, root) is None:
            _tell(f"{weights.repository}: waiting for it")
        while present(weights, root) is None:
            pause(_LOOK_AGAIN_S)
        _tell(f"{weights.repository}: there")


def _fetch(wanted: Sequence[Weights], root: Path, hub: Hub, revisions: dict[str, str]) -> None:
    """All of them before failing, so that one refusal does not hold up the rest."""
    refused = []
    for weights in wanted:
        try:
            found = fetch(weights, root, hub, revisions.get(weights.repository, ""), _tell)
            remember({found.repository: found.commit}, root)
        except CannotFetch as error:
            refused.append(str(error))
            _tell(str(error))
    if refused:
        raise CannotFetch(f"{len(refused)} of {len(wanted)} are missing:\n" + "\n".join(refused))


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
