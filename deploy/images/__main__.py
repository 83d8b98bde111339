"""Loreglass's container images: `python -m deploy.images --help`."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.images.building import Builder, CannotBuild
from deploy.images.catalogue import BASE, IMAGES, Image
from deploy.images.locking import CannotLock, lock
from deploy.images.measuring import CannotMeasure, table
from deploy.images.pinning import CannotPin, pin
from deploy.images.pip_settings import CannotTell
from deploy.images.publishing import CannotPublish, publish

_HELP = (
    "build them; push them, with digests and SBOMs; measure those that are built; name them;"
    " resolve anew what each one installs (uv);"
    " write digests behind the tags of other people's images (skopeo)"
)


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    arguments = _parser().parse_args(argv)
    if arguments.do in ("build", "publish", "sizes") and shutil.which(arguments.engine) is None:
        sys.exit(f"There is no {arguments.engine} here: install podman or docker, or name another --engine.")
    try:
        images = _chosen(arguments.only, arguments.cuda)
        if arguments.do == "list":
            sys.stdout.writelines(f"{image.name:22} {image.reference}\n" for image in images)
        elif arguments.do == "lock":
            lock(IMAGES)
        elif arguments.do == "pin":
            sys.stdout.writelines(f"{reference}\n" for reference in pin())
        elif arguments.do == "build":
            Builder(arguments.engine, arguments.base, arguments.torch_from).build(images)
        elif arguments.do == "publish":
            if not arguments.to:
                sys.exit("Name the registry: --to registry.example")
            publish(arguments.engine, images, arguments.to, arguments.out)
        else:
            sys.stdout.write(table(arguments.engine, images, run=arguments.run))
    except (CannotBuild, CannotLock, CannotMeasure, CannotPin, CannotPublish, CannotTell) as error:
        sys.exit(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.images", description="Loreglass's container images."
    )
    parser.add_argument("do", choices=("build", "publish", "sizes", "list", "lock", "pin"), help=_HELP)
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="NAME", help="gateway, cropper, cropper-cuda …"
    )
    parser.add_argument("--cuda", action="store_true", help="the images for GPUs too")
    parser.add_argument(
        "--engine",
        default="docker" if shutil.which("docker") else "podman",
        help="podman or docker (%(default)s)",
    )
    parser.add_argument("--base", default=BASE, help="Debian bookworm with Python 3.11 (%(default)s)")
    parser.add_argument(
        "--torch-from", default="", metavar="OPTIONS", help='"--index-url https://…": another build of torch'
    )
    parser.add_argument("--to", default="", metavar="REGISTRY", help="publish: where to push them")
    parser.add_argument(
        "--out", type=Path, default=Path("dist/images"), help="publish: for digests and SBOMs (%(default)s)"
    )
    parser.add_argument("--run", action="store_true", help="sizes: start each one, for its memory and times")
    return parser


def _chosen(names: Sequence[str], cuda: bool) -> tuple[Image, ...]:
    if not names:
        return tuple(image for image in IMAGES if cuda or not image.cuda)
    by_name = {image.name: image for image in IMAGES}
    if unknown := [name for name in names if name not in by_name]:
        raise CannotBuild(f"There is no image {unknown[0]!r}; there are {', '.join(by_name)}.")
    return tuple(by_name[name] for name in names)


if __name__ == "__main__":
    main()
