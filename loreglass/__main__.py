"""The `loreglass` command: `python -m loreglass`, and the console script."""

import sys
from pathlib import Path


def main() -> None:
    """Run the command. In a wheel the folders of the repository lie in here, under their own names."""
    packages = Path(__file__).with_name("packages")
    if packages.is_dir():
        sys.path.insert(0, str(packages))
    from deploy.command import main as run

    run()


if __name__ == "__main__":
    main()
