"""The plan as environment files, which compose and k8s read: budgets live in one place.

`NAME=VALUE` as it is, without quotes or spaces: docker's `--env-file`, compose's `env_file` and kustomize's
`configMapGenerator.envs` all take that alike. A shell does not: the gateway's JSON needs quotes there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic_core import to_json

from capacity.placement.demand import latencies_of
from capacity.placement.memory import service_share
from capacity.placement.node_file import POCKET, WITHOUT_MODEL
from capacity.placement.packing import VLM
from capacity.placement.proposal import Proposal
from capacity.placement.speed import vlm_speed
from gateway.planning.placement import PlacementPlan, ServiceShare

GATEWAY = "gateway"
Variables = dict[str, str]


def plan_of(proposal: Proposal) -> PlacementPlan:
    """What the gateway must know of it."""
    file, latencies = proposal.file, latencies_of(proposal.file)
    shares = {}
    for name in file.services:
        card = proposal.layout.services[name]
        if card is None:
            shares[name] = ServiceShare(None)
        else:
            ms = latencies.service(name)
            shares[name] = ServiceShare(card, proposal.memory_mib(name), ms.fixed_ms, ms.item_ms)
    return PlacementPlan(file.node.name, shares, file.node.burst_ms, proposal.vlm_sequences)


def environment(proposal: Proposal) -> dict[str, Variables]:
    """By process: the gateway, the model server, and every service."""
    file = proposal.file
    return {
        GATEWAY: _gateway(proposal),
        VLM: _vlm(proposal),
        **{name: _service(proposal, name) for name in file.services},
    }


def _gateway(proposal: Proposal) -> Variables:
    file = proposal.file
    return _named(
        GATEWAY,
        {
            "reasoning": "vlm",
            "vlm_model": file.vlm.preset,
            "vlm_sequences": proposal.vlm_sequences,
            "vlm_context": proposal.vlm.context,
            "vlm_photo_tokens": file.vlm.chosen.prompt_photo_tokens,
            "vlm_speed": to_json(asdict(vlm_speed(file.node, file.vlm.chosen))).decode(),
            "max_in_flight": proposal.in_flight,
            "answer_deadline_ms": proposal.deadline_ms,
            "latencies": file.latencies,
            "placement": plan_of(proposal).to_json(),
            "photo_to_domain_router": file.services["domain_router"].engine == "blip2",
            "photo_to_reranker": file.services["reranker"].engine == "cascade",
        },
    )


def _vlm(proposal: Proposal) -> Variables:
    vlm = proposal.vlm
    sizes: dict[str, object] = {
        "preset": proposal.file.vlm.preset,
        "memory_share": vlm.share,
        "max_model_len": vlm.context,
        "max_num_seqs": vlm.sequences,
    }
    if len(proposal.layout.vlm) == 1:  # each of several is told its own where it is started
        sizes["gpu"] = proposal.layout.vlm[0]
    return _named(VLM, sizes)


def _service(proposal: Proposal, name: str) -> Variables:
    service, card = proposal.file.services[name], proposal.layout.services[name]
    values: dict[str, object] = {"engine": service.engine}
    if name not in WITHOUT_MODEL:
        values["device"] = "cpu" if card is None else f"cuda:{card}"
    if card is not None:
        values["memory_share"] = service_share(proposal.file, name)
    if service.batch is not None:
        values["max_batch"] = service.batch
    at_once = "workers" if name in WITHOUT_MODEL or service.engine == POCKET else "callers"
    values[at_once] = service.concurrency
    return _named(name, values)


def _named(process: str, values: Mapping[str, object]) -> Variables:
    return {f"LOREGLASS_{process}_{name}".upper(): _text(value) for name, value in values.items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def files(proposal: Proposal, source: str, options: Sequence[str]) -> dict[Path, str]:
    """Relative path -> content: one file a process, and one with everything. `source`: the placement file."""
    command = " ".join(["loreglass plan", source, *options, "--write ."])
    head = f"# From {source}, by `{command}` in its folder: change that one, not this, and write again.\n"
    name = proposal.file.node.name
    processes = environment(proposal)
    written = {Path(name) / f"{process}.env": head + _lines(each) for process, each in processes.items()}
    parts = [f"\n# {process}\n{_lines(each)}" for process, each in processes.items()]
    return {Path(f"{name}.env"): head + "".join(parts), **written}


def _lines(variables: Variables) -> str:
    return "".join(f"{name}={value}\n" for name, value in variables.items())


def write(folder: Path, contents: Mapping[Path, str]) -> None:
    """Put the files there. Raises `OSError`."""
    for path, content in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, "utf-8")


def stale(folder: Path, contents: Mapping[Path, str]) -> list[Path]:
    """Those that are missing or not as they would be written now."""
    return [
        path
        for path, content in contents.items()
        if not (folder / path).is_file() or (folder / path).read_bytes() != content.encode()
    ]
