#!/bin/sh
# Build images with podman, buildah or docker, without buildx:
#   deploy/images/build.sh                              every CPU image
#   deploy/images/build.sh gateway reranker-cuda        these
#   ENGINE=docker BASE=other:tag deploy/images/build.sh
# BUILD_OPTIONS: further options of the engine, for example --secret=id=pip,src=/etc/pip.conf
set -eu
cd "$(dirname "$0")/../.."
. ./.env
engine=${ENGINE:-podman}
images=${LOREGLASS_IMAGES:-localhost/loreglass}
[ $# -gt 0 ] || set -- gateway domain-router cropper image-search text-search reranker verifier ocr reader \
    corpus corpus-ray weights

for name; do
    case $name in corpus | corpus-ray | weights) target=tool ;; *) target=app ;; esac
    case $name in *-cuda) cuda=1 ;; *) cuda= ;; esac
    # Docker's image format is the one that keeps health checks; OCI's has no place for them.
    case $engine in *docker) format= ;; *) format="--format=docker --layers" ;; esac
    # shellcheck disable=SC2086
    "$engine" build $format ${BUILD_OPTIONS:-} --file deploy/images/Dockerfile --target "$target" \
        --build-arg "APP=$name" --build-arg "CUDA=$cuda" --build-arg "TORCH_FROM=${TORCH_FROM:-}" \
        ${BASE:+--build-arg "BASE=$BASE"} \
        --label "org.opencontainers.image.title=Loreglass $name" \
        --label "org.opencontainers.image.version=$LOREGLASS_VERSION" \
        --label "org.opencontainers.image.revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)" \
        --tag "$images/$name:$LOREGLASS_VERSION" .
done
