#!/bin/sh
# Writes the complete chart into a folder: the chart here, with its profiles as kustomize renders them.
# k8s/helm/package.sh var/chart && helm package var/chart
set -eu
here=$(dirname "$0")
rm -rf "$1"
cp -r "$here/loreglass" "$1"
mkdir "$1/profiles"
kubectl kustomize "$here/../overlays/pocket" > "$1/profiles/lite.yaml"
kubectl kustomize "$here/../overlays/l40s" > "$1/profiles/l40s.yaml"
