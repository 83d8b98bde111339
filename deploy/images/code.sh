#!/bin/sh
# Copy the code that an image needs: code.sh APP SOURCE TARGET
set -eu
source=$(realpath "$2") target=$3
case "$1" in
gateway) parts="proto/contracts loreglass_client chassis language gateway" ;;
corpus | corpus-ray) parts="proto/contracts chassis clients loreglass_client corpus" ;;
weights) parts="services/__init__.py services/speech services/vlm deploy/__init__.py deploy/weights" ;;
text-search) parts="proto/contracts loreglass_client chassis language corpus services/__init__.py services/text_search" ;;
*) parts="proto/contracts loreglass_client chassis language services/__init__.py services/$(echo "${1%-cuda}" | tr - _)" ;;
esac

version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$source/pyproject.toml")
mkdir -p "$target/loreglass-$version.dist-info"
target=$(realpath "$target")
printf 'Metadata-Version: 2.1\nName: loreglass\nVersion: %s\n' "$version" \
    >"$target/loreglass-$version.dist-info/METADATA"
cd "$source"
# shellcheck disable=SC2086
cp --recursive --preserve=timestamps --parents $parts "$target"
if [ -d "$target/proto" ]; then mv "$target/proto/contracts" "$target" && rmdir "$target/proto"; fi
