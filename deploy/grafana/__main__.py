"""`python -m deploy.grafana`: writes the dashboards, or draws what they show of a Prometheus."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.grafana.boards import DASHBOARDS
from deploy.grafana.emitting import grafana_json

FOLDER = Path(__file__).parent / "dashboards"


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not (given.write or given.check or given.draw):
        parser.error("say what to do: --write, --check or --draw URL")
    if given.write:
        FOLDER.mkdir(exist_ok=True)
        for dashboard in DASHBOARDS:
            (FOLDER / f"{dashboard.uid}.json").write_text(grafana_json(dashboard), encoding="utf-8")
    if given.check and (stale := outdated()):
        sys.stderr.write(f"Not as declared: {', '.join(stale)}. Run python -m deploy.grafana --write.\n")
        return 1
    if given.draw:
        # Only drawing needs matplotlib.
        from deploy.grafana.drawing import View, draw_all

        chosen = dict(word.partition("=")[::2] for word in given.var)
        view = View(given.draw, given.minutes, given.until, chosen, given.scrape)
        draw_all(DASHBOARDS, view, given.out)
    return 0


def outdated() -> list[str]:
    """Names of files in dashboards/ that are missing, other than declared, or of no dashboard."""
    wanted = {f"{dashboard.uid}.json": grafana_json(dashboard) for dashboard in DASHBOARDS}
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    return sorted(name for name in wanted | found if wanted.get(name) != found.get(name))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m deploy.grafana", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write dashboards/*.json")
    parser.add_argument("--check", action="store_true", help="are they up to date?")
    parser.add_argument("--draw", metavar="URL", help="a Prometheus: one PNG for each dashboard")
    parser.add_argument("--out", type=Path, default=Path("docs/dashboards"), metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=60, help="how far back to look")
    parser.add_argument("--until", type=float, default=0, help="up to when, a Unix time; now if not given")
    parser.add_argument("--scrape", type=float, default=15, help="the scrape interval, seconds")
    parser.add_argument("--var", action="append", default=[], metavar="NAME=REGEX", help="gateway=l40s.*")
    return parser


if __name__ == "__main__":
    sys.exit(main())
