"""The plan for people: a bar for each card, and what to expect. Readable without colour too."""

from collections.abc import Iterator
from itertools import cycle

from rich import box
from rich.console import Console, Group
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from capacity.placement.memory import service_share
from capacity.placement.packing import VLM
from capacity.placement.proposal import Proposal, Slice

BAR = 64  # characters
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")
_LETTERS = {
    VLM: "V",
    "domain_router": "d",
    "cropper": "c",
    "image_search": "i",
    "text_search": "t",
    "reranker": "r",
    "verifier": "v",
    "ocr": "o",
    "reader": "a",
    "stt": "h",
    "tts": "s",
    "CUDA contexts": "+",
    "headroom": "x",
}
_FREE = "·"


def show(proposal: Proposal, console: Console) -> None:
    """Bars, limits, routes."""
    console.print(_headline(proposal), highlight=False)
    for card in range(proposal.layout.cards):
        console.print(_card(proposal, card))
    console.print(_limits(proposal), highlight=False)
    console.print(_routes(proposal))


def _headline(proposal: Proposal) -> str:
    file, cards = proposal.file, proposal.layout.cards
    where = f"{cards} card{'s' if cards > 1 else ''} of {file.node.memory_gb:g} GB"
    return f"[bold]{escape(file.node.name)}[/bold]: {escape(file.vlm.preset)} on {where}"


def _card(proposal: Proposal, card: int) -> Group:
    slices = proposal.slices(card)
    free = proposal.file.node.memory_gb - sum(each.gb for each in slices)
    head = f"  GPU {card:{len(str(proposal.layout.cards - 1))}} ▕"
    bar = Text(head)
    legend: list[Text] = []
    for (letter, style, width), each in zip(_cells(proposal, slices), slices, strict=True):
        bar.append(letter * width, style)
        legend.append(Text.assemble((letter, style), f" {each.name} {each.gb:.1f}"))
    bar.append(_FREE * (BAR + len(head) - len(bar)), "dim")
    legend.append(Text(f"{_FREE} free {max(0.0, free):.1f} GB"))
    return Group(bar.append("▏"), Padding(Group(*_lines(legend)), (0, 0, 0, len(head))))


def _lines(entries: list[Text]) -> Iterator[Text]:
    """As many on a line as the bar is wide; none is broken."""
    line = Text()
    for entry in entries:
        if line and len(line) + 2 + len(entry) > BAR:
            yield line
            line = Text()
        line = line + "  " + entry if line else entry
    yield line


def _cells(proposal: Proposal, slices: list[Slice]) -> Iterator[tuple[str, str, int]]:
    """Letter, style and width of each slice; the widths are those of the running sum, so that none drifts."""
    colours = cycle(_COLOURS)
    begun, drawn = 0.0, 0
    for each in slices:
        begun += each.gb
        end = max(drawn + 1, round(begun / proposal.file.node.memory_gb * BAR))
        end = min(end, BAR)
        reserved = each.name in ("CUDA contexts", "headroom")
        style = "dim" if reserved else f"black on {next(colours)}"
        yield _LETTERS[each.name], style, end - drawn
        drawn = end


def _limits(proposal: Proposal) -> str:
    vlm, replicas = proposal.vlm, proposal.file.vlm.replicas
    on_cpu = [name for name, card in proposal.layout.services.items() if card is None]
    server = "vLLM:" if replicas == 1 else f"vLLM, the same on each of {replicas} cards:\n   "
    return (
        f"  CPU: {', '.join(on_cpu) or 'none'}\n"
        f"  {server} --gpu-memory-utilization {vlm.share:g} --max-model-len {vlm.context}"
        f" --max-num-seqs {vlm.sequences}\n"
        f"  gateway: {proposal.in_flight} questions at once; small models: "
        f"{proposal.file.node.burst_ms:g} GPU ms at once on a card"
        f"{voice(proposal)}"
    )


def voice(proposal: Proposal) -> str:
    """Who hears and who speaks, and what a vLLM among them must be told; nothing where there is no voice."""
    said = []
    for role, each in proposal.file.voice.items():
        vllm = each.chosen.command[:1] == ("vllm",)
        share = f" --gpu-memory-utilization {service_share(proposal.file, role):g}" if vllm else ""
        said.append(f"{role} {each.preset}{share}")
    return f"\n  voice: {', '.join(said)}" if said else ""


def _routes(proposal: Proposal) -> Group:
    deadline = proposal.deadline_ms
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True)
    table.add_column(f"medians, deadline {deadline / 1000:g} s")
    for name in ("model calls", "idle, s", f"{proposal.in_flight} at once, s", "req/s"):
        table.add_column(name, justify="right")
    for each in (*proposal.expected, proposal.mix):
        late = each.busy_ms > deadline
        table.add_row(
            each.name,
            f"{each.calls:.1f}",
            f"{each.idle_ms / 1000:.2f}",
            f"{each.busy_ms / 1000:.1f}" + (" !" if late else ""),
            f"{each.per_s:.2f}",
            end_section=each is proposal.expected[-1],
        )
    if all(each.busy_ms <= deadline for each in proposal.expected):
        return Group(table)
    return Group(table, Text("  ! later than the deadline if nothing is cut: the gateway then plans less"))
