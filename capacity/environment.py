"""The plan as environment files for compose and Kubernetes.

Lines are `NAME=VALUE` without quotes or spaces, which docker's `--env-file`, compose's `env_file` and
kustomize's `configMapGenerator.envs` all read alike. A shell does not: it would need quotes around JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic_core import to_json

from capacity.node_file import ON_CPU, WITHOUT_MODEL, Node
from capacity.proposal import VLM, Proposal, service_share
from gateway.planning.latencies import VlmSpeed, load_latencies
from gateway.planning.placement import PlacementPlan, ServiceShare
from services.vlm.presets import Preset

GATEWAY = "gateway"
MEMORY_EFFICIENCY = 0.77
"""Share of the bandwidth that decoding reaches (the L40S budget: 21.4 ms a token at best, 27.8 seen)."""
COMPUTE_EFFICIENCY = 0.53
"""Share of the dense peak that prefill reaches (the L40S budget: 2,500 tokens in 240 ms in bf16)."""
Values = dict[str, object]
Variables = dict[str, str]


def plan_of(proposal: Proposal) -> PlacementPlan:
    """Return the part of the plan that the gateway needs."""
    file, latencies = proposal.file, load_latencies(proposal.file.latencies)
    shares = {}
    for name in file.services:
        card, ms = proposal.layout.services[name], latencies.service(name)
        share = ServiceShare(card, proposal.memory_mib(name), ms.fixed_ms, ms.item_ms)
        # The model of a preset is on the card, its service is not.
        shares[name] = ServiceShare(None) if card is None or file.services[name].preset else share
    return PlacementPlan(file.node.name, shares, file.node.burst_ms, proposal.vlm.sequences)


def vlm_speed(node: Node, preset: Preset) -> VlmSpeed:
    """Return how fast a preset is on a card, from the card's data sheet and the model's sizes.

    Milliseconds of one call alone. Writing a token reads all weights of the decoder; reading tokens and
    photos is bound by computing.
    """
    tflops = (node.fp8_tflops if preset.fp8 else None) or node.bf16_tflops
    token_ms = preset.prefill_gflop / (tflops * COMPUTE_EFFICIENCY)
    vision_ms = preset.vision_tflop / (node.bf16_tflops * COMPUTE_EFFICIENCY) * 1000
    if preset.photo_in_prompt:
        vision_ms += token_ms * preset.photo_tokens
    decode_ms = preset.decode_weights_gb / (node.bandwidth_gb_s * MEMORY_EFFICIENCY) * 1000
    return VlmSpeed(
        vision_ms=float(round(vision_ms)),
        prefill_ms_per_1k=float(round(token_ms * 1000)),
        decode_ms_per_token=round(decode_ms, 1),
        prefix_caching=preset.prefix_caching,
    )


def environment(proposal: Proposal) -> dict[str, Variables]:
    """Return the variables of the gateway, the model server and every service."""
    services = {name: _service(proposal, name) for name in proposal.file.services}
    processes = {GATEWAY: _gateway(proposal), VLM: _vlm(proposal), **services}
    return {
        process: {f"LOREGLASS_{process}_{name}".upper(): _text(value) for name, value in values.items()}
        for process, values in processes.items()
    }


def _gateway(proposal: Proposal) -> Values:
    file = proposal.file
    return {
        "reasoning": "vlm",
        "vlm_model": file.vlm.preset,
        "vlm_sequences": proposal.vlm.sequences,
        "vlm_context": proposal.vlm.context,
        "vlm_photo_tokens": file.vlm.chosen.prompt_photo_tokens,
        "vlm_speed": to_json(asdict(vlm_speed(file.node, file.vlm.chosen))).decode(),
        "max_in_flight": proposal.vlm.sequences,
        "answer_deadline_ms": proposal.deadline_ms,
        "latencies": file.latencies,
        "placement": plan_of(proposal).to_json(),
        "photo_to_domain_router": file.services["domain_router"].engine == "blip2",
        "photo_to_reranker": file.services["reranker"].engine == "cascade",
    }


def _vlm(proposal: Proposal) -> Values:
    vlm = proposal.vlm
    return {
        "preset": proposal.file.vlm.preset,
        "memory_share": vlm.share,
        "max_model_len": vlm.context,
        "max_num_seqs": vlm.sequences,
        "gpu": proposal.layout.vlm,
    }


def _service(proposal: Proposal, name: str) -> Values:
    service, card = proposal.file.services[name], proposal.layout.services[name]
    values: Values = {"engine": service.engine}
    if service.preset:
        return values | {
            "remote_shape": "vllm",
            "remote_model": service.preset,
            "callers": service.concurrency,
        }
    if name not in WITHOUT_MODEL:
        values["device"] = "cpu" if card is None else f"cuda:{card}"
    if card is not None:
        values["memory_share"] = service_share(proposal.file, name)
    if service.batch is not None:
        values["max_batch"] = service.batch
    at_once = "workers" if name in WITHOUT_MODEL or service.engine in ON_CPU else "callers"
    values[at_once] = service.concurrency
    return values


def _retrievers(proposal: Proposal) -> dict[str, Variables]:
    """Return the variables of `python -m services.vlm` for each service that has a preset."""
    return {
        f"{name}_model": {
            "LOREGLASS_VLM_PRESET": service.preset,
            "LOREGLASS_VLM_MEMORY_SHARE": _text(service_share(proposal.file, name)),
            "LOREGLASS_VLM_GPU": str(proposal.layout.services[name]),
        }
        for name, service in proposal.file.services.items()
        if service.preset
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def files(proposal: Proposal, source: str, options: Sequence[str]) -> dict[Path, str]:
    """Return the content by relative path: a file for each process, and one with everything."""
    command = " ".join(["loreglass plan", source, *options, "--write ."])
    head = f"# From {source}, by `{command}` in its folder: change that one, not this, and write again.\n"
    name = proposal.file.node.name
    processes = environment(proposal)
    own = processes | _retrievers(proposal)  # their variables have the same names as the model server's
    written = {Path(name) / f"{process}.env": head + _lines(each) for process, each in own.items()}
    parts = [f"\n# {process}\n{_lines(each)}" for process, each in processes.items()]
    return {Path(f"{name}.env"): head + "".join(parts), **written}


def _lines(variables: Variables) -> str:
    return "".join(f"{name}={value}\n" for name, value in variables.items())


def write(folder: Path, contents: Mapping[Path, str]) -> None:
    """Write the files. Raises `OSError`."""
    for path, content in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, "utf-8")
