"""Print the plan: a table of each card's memory, and the options of the model server."""

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from capacity.memory import service_share
from capacity.proposal import Proposal


def show(proposal: Proposal, console: Console) -> None:
    """Print it."""
    file, vlm = proposal.file, proposal.vlm
    cards = file.node.cards
    where = f"{cards} card{'s' if cards > 1 else ''} of {file.node.memory_gb:g} GB"
    console.print(f"[bold]{escape(file.node.name)}[/bold]: {escape(file.vlm.preset)} on {where}")
    console.print(_table(proposal))
    on_cpu = [name for name, card in proposal.layout.services.items() if card is None]
    console.print(f"  CPU: {', '.join(on_cpu) or 'none'}")
    console.print(
        f"  vLLM: --gpu-memory-utilization {vlm.share:g} --max-model-len {vlm.context} "
        f"--max-num-seqs {vlm.sequences}"
    )
    for role, each in file.voice.items():
        vllm = each.chosen.command[:1] == ("vllm",)
        share = f" --gpu-memory-utilization {service_share(file, role):g}" if vllm else ""
        console.print(f"  {role}: {each.preset}{share}")
    console.print(
        f"  gateway: {vlm.sequences} questions at once; small models: "
        f"{file.node.burst_ms:g} GPU ms at once on a card"
    )


def _table(proposal: Proposal) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("GPU", justify="right")
    table.add_column("process")
    table.add_column("GB", justify="right")
    table.add_column("share", justify="right")
    for card in range(proposal.file.node.cards):
        parts = proposal.parts(card)
        for name, gb in parts.items():
            share = f"{gb / proposal.file.node.memory_gb:.1%}"
            table.add_row(str(card), name, f"{gb:.1f}", share, end_section=name == list(parts)[-1])
    return table
