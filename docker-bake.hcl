# docker buildx bake                        every CPU image, as localhost/loreglass/NAME:VERSION
# docker buildx bake gateway reranker-cuda  these; `cuda`: every GPU image
# LOREGLASS_IMAGES=registry.example/loreglass docker buildx bake default cuda --push --sbom=true \
#     --metadata-file dist/images.json      push them with SBOMs; the file has each image's digest
# Without buildx: deploy/images/build.sh

variable "LOREGLASS_IMAGES" { default = "localhost/loreglass" }
variable "LOREGLASS_VERSION" { default = "0.1.0" }
variable "REVISION" { default = "" }
variable "BASE" { default = "docker.io/library/python:3.11-slim-bookworm" }
# Options of pip that name another build of torch: --index-url https://...
variable "TORCH_FROM" { default = "" }
# A pip.conf and a CA bundle for the build; no layer keeps them. In pip.conf the bundle is `cert = /run/secrets/ca`.
variable "PIP_CONF" { default = "" }
variable "PIP_CERT" { default = "" }

group "default" { targets = ["app", "tool"] }

target "image" {
  dockerfile = "deploy/images/Dockerfile"
  args       = { BASE = BASE, TORCH_FROM = TORCH_FROM }
  labels = {
    "org.opencontainers.image.version"   = LOREGLASS_VERSION
    "org.opencontainers.image.revision"  = REVISION
    "org.opencontainers.image.base.name" = BASE
  }
  secret = concat(
    PIP_CONF != "" ? ["id=pip,src=${PIP_CONF}"] : [],
    PIP_CERT != "" ? ["id=ca,src=${PIP_CERT}"] : [],
  )
}

target "app" {
  inherits = ["image"]
  matrix = {
    app = [
      "gateway", "domain-router", "cropper", "image-search", "text-search",
      "reranker", "verifier", "ocr", "reader",
    ]
  }
  name   = app
  target = "app"
  args   = { APP = app }
  tags   = ["${LOREGLASS_IMAGES}/${app}:${LOREGLASS_VERSION}"]
}

target "tool" {
  inherits = ["image"]
  matrix   = { tool = ["corpus", "corpus-ray", "weights"] }
  name     = tool
  target   = "tool"
  args     = { APP = tool }
  tags     = ["${LOREGLASS_IMAGES}/${tool}:${LOREGLASS_VERSION}"]
}

target "cuda" {
  inherits = ["image"]
  matrix   = { app = ["domain-router", "cropper", "image-search", "text-search", "reranker", "reader"] }
  name     = "${app}-cuda"
  target   = "app"
  args     = { APP = "${app}-cuda", CUDA = "1" }
  tags     = ["${LOREGLASS_IMAGES}/${app}-cuda:${LOREGLASS_VERSION}"]
}
