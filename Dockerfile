# syntax=docker/dockerfile:1
FROM python:3.13-slim-bookworm AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# The bundled encoder has ready builds for x86-64 only; elsewhere it is compiled here.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/mnemogram
ENV PATH=/opt/mnemogram/bin:$PATH
WORKDIR /src

RUN pip install --no-deps --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock

# The production default of the embeddings is fetched here, so that the container needs no model hub.
ARG EMBEDDINGS_MODEL=intfloat/multilingual-e5-small
ENV HF_HOME=/opt/models
RUN python -c "import sys, huggingface_hub; huggingface_hub.snapshot_download(sys.argv[1], allow_patterns=['*.json', '*.txt', '*.model', '*.safetensors', '1_Pooling/*'])" "$EMBEDDINGS_MODEL"

COPY pyproject.toml README.md LICENSE ./
COPY bot ./bot
COPY handlers ./handlers
COPY memory ./memory
RUN pip install --no-deps --no-build-isolation .


FROM python:3.13-slim-bookworm

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin mnemogram \
    && install --directory --owner=mnemogram --group=mnemogram --mode=0700 /data
COPY --from=build /opt/mnemogram /opt/mnemogram
COPY --from=build /opt/models /opt/models

ARG EMBEDDINGS_MODEL=intfloat/multilingual-e5-small
ENV PATH=/opt/mnemogram/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HF_HOME=/opt/models \
    HF_HUB_OFFLINE=1 \
    MNEMOGRAM_STORAGE__DIR=/data \
    MNEMOGRAM_EMBEDDINGS__MODEL=${EMBEDDINGS_MODEL} \
    MNEMOGRAM_WEB__LISTEN=127.0.0.1:8080

USER 10001
WORKDIR /home/mnemogram
VOLUME /data
STOPSIGNAL SIGTERM
# The first start loads the model and may rebuild the index, which takes a while on a small machine.
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
ENTRYPOINT ["mnemogram"]
CMD ["run"]
