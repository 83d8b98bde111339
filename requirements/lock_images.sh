#!/bin/sh
# Write requirements/images/*.txt: the groups of pyproject.toml that an image installs, within constraints.txt.
set -eu
cd "$(dirname "$0")/.."

lock() {
    name=$1
    shift
    # torch and what comes with it are installed apart: which packages these are depends on torch's build.
    resolved=$(uv pip compile pyproject.toml --quiet --no-header --no-annotate --python-version 3.11 \
        --no-emit-package loreglass --constraint constraints.txt $(printf -- '--extra=%s ' "$@"))
    echo "$resolved" | grep -vE '^(torch|torchvision|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==' \
        >"requirements/images/$name.txt"
}

lock gateway gateway telemetry
lock domain-router domain-router telemetry
lock cropper cropper telemetry
lock image-search image-search telemetry qdrant-server
lock text-search text-search-web telemetry qdrant-server
lock reranker reranker telemetry
lock verifier verifier telemetry
lock ocr ocr telemetry
lock reader reader telemetry
lock corpus corpus clients
lock corpus-ray ray-cluster clients
lock weights weights
lock domain-router-cuda domain-router-blip2 telemetry
lock cropper-cuda cropper-grounding-dino telemetry
lock image-search-cuda image-search-clip telemetry qdrant-server
lock text-search-cuda text-search-bge telemetry qdrant-server
lock reranker-cuda reranker-cascade telemetry
lock reader-cuda reader-extractive telemetry
