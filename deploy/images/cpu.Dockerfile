# One app on a CPU: gateway, a service with its pocket engine, or a tool. `python -m deploy.images build` gives the
# arguments; README.md beside this says what for. Stages that name no app are the same layers in every image.

ARG BASE=docker.io/library/python:3.11-slim-bookworm

# What is installed, with the hash of each file; a stage of its own, so that other packages' hashes change no layer.
FROM ${BASE} AS requirements
ARG REQUIREMENTS
COPY requirements/hashed.py requirements/hashes.txt requirements/images/${REQUIREMENTS} /opt/
RUN python /opt/hashed.py /opt/${REQUIREMENTS} > /opt/requirements.txt

# The locked packages, in an environment of their own. Only this stage has pip and binutils.
FROM ${BASE} AS packages
RUN apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends binutils \
 && python -m venv /opt/pip && python -m venv --without-pip /opt/venv
COPY --from=requirements /opt/requirements.txt /opt/requirements.txt
# Wheels only: nothing is compiled, so no compiler is ever here. pip's configuration is a secret, because an address
# may hold a password; a cache saves the next image's downloads. A quarter of what wheels hold nobody runs: tests,
# sources in C, and debug symbols (those of extension modules; libraries that a wheel bundles were patched by
# auditwheel, and are left as they are).
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=secret,id=ca \
    --mount=type=cache,target=/root/.cache/pip \
    /opt/pip/bin/pip --python /opt/venv install --disable-pip-version-check --no-deps --no-compile \
        --only-binary :all: --require-hashes --requirement /opt/requirements.txt \
 && find /opt/venv/lib -type d -name tests -prune -exec rm -rf {} + \
 && find /opt/venv/lib -type f -regex '.*\.\(c\|h\|hpp\|pyx\|pxd\|pxi\|pyi\|a\)' -delete \
 && find /opt/venv/lib -name '*.cpython-*.so' -exec strip --strip-debug {} + \
 && python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/venv/lib

# What of the project this app imports, compiled; the same bytes whenever the same files go in.
FROM ${BASE} AS code
COPY proto/contracts /src/contracts
COPY language /src/language
COPY chassis /src/chassis
COPY services /src/services
COPY gateway /src/gateway
COPY clients /src/clients
COPY loreglass_client /src/loreglass_client
COPY corpus /src/corpus
COPY deploy /src/deploy
ARG CODE
ARG VERSION
RUN mkdir -p /app/loreglass-${VERSION}.dist-info \
 && printf 'Metadata-Version: 2.1\nName: loreglass\nVersion: %s\n' "${VERSION}" \
        > /app/loreglass-${VERSION}.dist-info/METADATA \
 && cd /src && cp --recursive --parents ${CODE} /app \
 && python -m compileall -q --invalidation-mode unchecked-hash /app \
 && find /app -exec touch --no-dereference --date=@0 {} +

FROM ${BASE} AS runtime
# Nobody installs anything in a running container. A new volume has the owner of the folder that it is mounted on, and
# root's where there is none.
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3.11/site-packages/* \
        /usr/local/lib/python3.11/ensurepip /usr/lib/python3.11/ensurepip /usr/share/python-wheels \
 && groupadd --gid 10001 loreglass \
 && useradd --uid 10001 --gid 10001 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin loreglass \
 && install --directory --owner 10001 --group 10001 /var/lib/loreglass /weights /tokens/read /tokens/write
COPY deploy/images/health.py /opt/health.py
# The root is read-only: bytecode is there already, and what writes a cache writes it to /tmp. Services work side by
# side; BLAS threads of their own only get in each other's way.
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONPATH=/app \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1
COPY --from=packages /opt/venv /opt/venv
COPY --from=code /app /app
WORKDIR /app
USER 10001:10001
# As the first process of its container Python would not hear SIGTERM before the app listens for it; SIGINT it does.
STOPSIGNAL SIGINT
ARG MODULE
ENV LOREGLASS_MODULE=${MODULE}

# `localhost/loreglass/corpus index …`, `… weights --list`: runs and ends.
FROM runtime AS tool
ENTRYPOINT ["sh", "-c", "exec python -m \"$LOREGLASS_MODULE\" \"$@\"", "loreglass"]

FROM runtime AS app
ARG PREFIX
ARG PORT
ENV ${PREFIX}HOST=0.0.0.0 \
    LOREGLASS_READY=127.0.0.1:${PORT}
EXPOSE ${PORT}
HEALTHCHECK --interval=10s --timeout=7s --start-period=60s --retries=3 \
    CMD exec python -I -S /opt/health.py "$LOREGLASS_READY"
CMD ["sh", "-c", "exec python -m \"$LOREGLASS_MODULE\""]

# An app with an index: mount a volume there.
FROM app AS keeper
ARG PREFIX
ENV ${PREFIX}DATA_DIR=/var/lib/loreglass
VOLUME /var/lib/loreglass
