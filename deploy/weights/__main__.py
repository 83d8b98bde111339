"""`python -m deploy.weights`: downloads the weights of the production engines, once.

Standard library, huggingface_hub and pydantic only: its image holds nothing else.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from services.speech.presets import HEARS
from services.speech.presets import PRESETS as SPEECH_PRESETS
from services.vlm.presets import DEFAULT, PRESETS
from services.vlm.settings import serve_settings

FOLDER = "/weights"
"""Mount point of the volume in every container. An index of CLIP stores this path: do not change it."""
MARKER = ".complete.json"
REVISIONS = "revisions.json"
_SMALL = ("*.json", "*.txt", "*.model", "*.jinja")
"""Configurations, vocabularies and chat templates, which are always fetched."""
_LOOK_AGAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Weights:
    """A repository of the hub. `used_by`: apps; `revision`: a commit, or `main` where none is pinned;
    `files`: patterns of the weights, the preferred format first.
    """

    repository: str
    used_by: tuple[str, ...]
    gb: float
    revision: str = "main"
    files: tuple[str, ...] = ("*.safetensors", "*.bin")

    @property
    def name(self) -> str:
        return self.repository.rpartition("/")[2]


SERVICES = (
    Weights(
        "Salesforce/blip2-itm-vit-g",
        ("domain_router", "reranker"),
        4.7,
        "520bf73fd0ef6ccce791cd3f06908040aef2d8cc",
    ),
    Weights(
        "IDEA-Research/grounding-dino-tiny", ("cropper",), 0.7, "a2bb814dd30d776dcf7e30523b00659f4f141c71"
    ),
    Weights(
        "timm/vit_large_patch14_clip_336.openai",
        ("image_search",),
        1.7,
        files=("open_clip_model.safetensors", "open_clip_pytorch_model.bin"),
    ),
    Weights("BAAI/bge-large-en-v1.5", ("text_search",), 1.3, "d4aa6901d3a41ba39fb536a557fa166f842b0e09"),
    Weights("Qwen/Qwen3-Reranker-0.6B", ("reranker",), 1.2, "e61197ed45024b0ed8a2d74b80b4d909f1255473"),
    Weights("deepset/minilm-uncased-squad2", ("reader",), 0.1),
)
"""The engines' defaults. `weights.env` points the services at their folders."""


class WeightsSettings(BaseSettings):
    """`LOREGLASS_WEIGHTS_*`. `voice`: a preset of `services.speech`, or empty for none; `revisions`: JSON of
    repository to branch, tag or commit, as `revisions.json` beside the weights has it.
    """

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_WEIGHTS_", frozen=True, extra="ignore")

    dir: Path = Path(FOLDER)
    voice: str = ""
    revisions: dict[str, str] = Field(default_factory=dict)


class HubSettings(BaseSettings):
    """`HF_TOKEN`, or better `HF_TOKEN_FILE` (default: a container's secret); `HF_ENDPOINT`: a mirror."""

    model_config = SettingsConfigDict(env_prefix="HF_", frozen=True, extra="ignore")

    endpoint: str | None = None
    token: SecretStr = SecretStr("")
    token_file: Path = Path("/run/secrets/hf_token")

    def read_token(self) -> str:
        """Return the token, or an empty string. Raises `OSError` if the file cannot be read."""
        if self.token_file.exists():
            return self.token_file.read_text().strip()
        return self.token.get_secret_value().strip()


class CannotFetch(Exception):
    """Weights were not fetched; the text says why and what to do."""


def vlm(preset: str) -> Weights:
    return Weights(PRESETS[preset].model, ("vlm",), PRESETS[preset].weights_gb)


def speech(preset: str) -> Weights:
    """Return the weights of a server that transcribes speech. Raises `CannotFetch` if a preset has none."""
    presets = {each.name: each for each in SPEECH_PRESETS.values() if each.repository}
    if preset not in presets:
        raise CannotFetch(
            f"The speech preset {preset!r} has no weights to fetch. Use {' or '.join(presets)}."
        )
    entry = presets[preset]
    return Weights(entry.repository, (HEARS,), entry.weights_gb, files=(entry.file,))


def present(weights: Weights, root: Path, revision: str = "") -> dict[str, str] | None:
    """The marker of complete weights, or None if files are missing or of another revision. Asks no server."""
    folder = root / weights.name
    try:
        marker = json.loads((folder / MARKER).read_text())
        if marker["repository"] != weights.repository:
            return None
        if revision not in ("", marker["revision"], marker["commit"]):
            return None
        whole = all((folder / name).stat().st_size == size for name, size in marker["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return dict(marker) if whole else None


def fetch(weights: Weights, root: Path, token: str, revision: str, endpoint: str | None = None) -> None:
    """Download what is missing, compare it with the hub's checksums, and mark the folder as complete.

    Raises `CannotFetch`.
    """
    if present(weights, root, revision):
        return _tell(f"{weights.repository}: already there")
    from huggingface_hub import HfApi, snapshot_download

    folder, api = root / weights.name, HfApi(endpoint=endpoint, token=token or False)
    with _translate_errors(weights.repository, revision, urlsplit(api.endpoint).netloc):
        info = api.model_info(weights.repository, revision=revision)
        names = _files([each.rfilename for each in info.siblings or ()], weights.files)
        if not names:
            raise CannotFetch(f"{weights.repository} holds none of {', '.join(weights.files)}.")
        _tell(f"{weights.repository}: about {weights.gb} GB to {folder}, commit {info.sha}")
        (folder / MARKER).unlink(missing_ok=True)
        snapshot_download(
            weights.repository,
            revision=info.sha,
            local_dir=folder,
            allow_patterns=names,
            token=token or False,
            endpoint=endpoint,
        )
        checked = api.verify_repo_checksums(
            weights.repository, revision=info.sha, local_dir=folder, token=token or False
        )
    if damaged := [each["path"] for each in checked.mismatches if each["path"] in names]:
        for name in damaged:
            (folder / name).unlink()
        raise CannotFetch(
            f"{weights.repository}: the download of {', '.join(damaged)} is corrupt. Run it again."
        )
    sizes = {name: (folder / name).stat().st_size for name in names}
    facts = {"repository": weights.repository, "revision": revision, "commit": info.sha, "files": sizes}
    (folder / MARKER).write_text(json.dumps(facts, indent=1))
    commits = json.loads((root / REVISIONS).read_text()) if (root / REVISIONS).exists() else {}
    (root / REVISIONS).write_text(json.dumps({**commits, weights.repository: info.sha}, indent=1))


def _files(names: Sequence[str], weights: Sequence[str]) -> list[str]:
    """Files at the top of the repository that an engine reads: small ones, and the first format there is."""
    top = [name for name in names if "/" not in name and not name.startswith(".")]
    for pattern in weights:
        if matches := [name for name in top if fnmatch(name, pattern)]:
            return [name for name in top if any(fnmatch(name, kind) for kind in _SMALL)] + matches
    return []


@contextmanager
def _translate_errors(repository: str, revision: str, host: str) -> Iterator[None]:
    """Turn what the hub's client raises into `CannotFetch`."""
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise CannotFetch(
            f"{repository} is gated: accept its terms at https://huggingface.co/{repository} with the account"
            " of your token, and pass the token as the secret hf_token, HF_TOKEN_FILE or HF_TOKEN."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise CannotFetch(f"{repository} has no revision {revision!r}.") from error
    except errors.RepositoryNotFoundError as error:
        raise CannotFetch(f"{repository} is not on the hub, or the token may not see it.") from error
    except httpx2.TransportError as error:
        raise CannotFetch(f"No connection to {host}: {repository} was not fetched.") from error
    except (errors.HfHubHTTPError, httpx2.HTTPError, OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise CannotFetch(f"{repository} could not be fetched: {reason}. Run it again to resume.") from error


def wait(repositories: Sequence[Weights], root: Path, pause: Callable[[float], object] = time.sleep) -> None:
    """Return when another run has fetched all of them."""
    for weights in repositories:
        if present(weights, root) is None:
            _tell(f"{weights.repository}: waiting for it")
        while present(weights, root) is None:
            pause(_LOOK_AGAIN_S)
        _tell(f"{weights.repository}: there")


def main(argv: Sequence[str] | None = None) -> None:
    try:
        settings, hub = WeightsSettings(), HubSettings()
        arguments = _parser(settings, serve_settings().preset or DEFAULT).parse_args(argv)
        voice = (speech(arguments.voice),) if arguments.voice else ()
        everything = (*SERVICES, vlm(arguments.preset), *voice)
        repositories = [weights for weights in everything if set(weights.used_by) & set(arguments.only)]
        if arguments.list:
            for weights in repositories:
                state = "there" if present(weights, arguments.dir) else f"to fetch, about {weights.gb} GB"
                _tell(f"{weights.repository:55} {', '.join(weights.used_by):24} {state}")
        elif arguments.wait:
            wait(repositories, arguments.dir)
        else:
            _fetch_all(repositories, arguments.dir, hub, settings.revisions)
    except SettingsError:
        sys.exit('LOREGLASS_WEIGHTS_REVISIONS is not JSON, such as {"BAAI/bge-large-en-v1.5": "main"}.')
    except ValidationError as error:
        sys.exit(f"LOREGLASS_WEIGHTS_*: {error.errors(include_input=False)[0]['msg']}.")
    except (CannotFetch, ValueError, OSError) as error:
        sys.exit(str(error))


def _parser(settings: WeightsSettings, preset: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.weights", description="Fetch the production engines' weights."
    )
    parser.add_argument("--dir", type=Path, default=settings.dir, help="where they go (%(default)s)")
    parser.add_argument("--preset", choices=PRESETS, default=preset, help="the VLM's (%(default)s)")
    parser.add_argument(
        "--voice", default=settings.voice, help="speech recognition: a preset of services/speech"
    )
    apps = sorted({app for weights in SERVICES for app in weights.used_by} | {"vlm", HEARS})
    parser.add_argument(
        "--only",
        nargs="+",
        type=lambda name: name.replace("-", "_"),
        choices=apps,
        default=apps,
        metavar="APP",
        help=", ".join(apps),
    )
    parser.add_argument("--list", action="store_true", help="only list what there is to fetch")
    parser.add_argument("--wait", action="store_true", help="only wait until another run has fetched them")
    return parser


def _fetch_all(
    repositories: Sequence[Weights], root: Path, hub: HubSettings, revisions: dict[str, str]
) -> None:
    """Try all of them before failing. Raises `CannotFetch`."""
    failed = []
    for weights in repositories:
        try:
            revision = revisions.get(weights.repository, weights.revision)
            fetch(weights, root, hub.read_token(), revision, hub.endpoint)
        except CannotFetch as error:
            failed.append(str(error))
            _tell(str(error))
    if failed:
        raise CannotFetch(f"{len(failed)} of {len(repositories)} are missing:\n" + "\n".join(failed))


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
