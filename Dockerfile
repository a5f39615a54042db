# stream_bayes with its Kafka client and its page: `docker build --tag stream-bayes .`, or `docker compose up`, which also brings a broker.
# Dependencies have the versions of requirements.txt, those that the tests run with.

FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements.txt ./
RUN pip install --no-cache-dir --constraint requirements.txt hatchling
COPY pyproject.toml README.md LICENSE ./
COPY stream_bayes stream_bayes
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir wheels .

FROM python:3.11-slim
COPY --from=build /build/requirements.txt /build/wheels/*.whl /opt/stream_bayes/
RUN cd /opt/stream_bayes && pip install --no-cache-dir --constraint requirements.txt "$(ls *.whl)[web]"

RUN useradd --uid 10001 --no-create-home --home-dir /var/lib/stream_bayes stream-bayes \
    && install --directory --owner=stream-bayes /var/lib/stream_bayes /var/lib/stream_bayes/checkpoints /var/cache/stream_bayes
USER stream-bayes
WORKDIR /var/lib/stream_bayes

# Compiles all of the kernels that a worker, classify, evaluate and the page need, which takes a minute. The machine code
# is for the kind of processor it was made on; on another kind each compiles its own into the same folder, in the container.
ENV NUMBA_CACHE_DIR=/var/cache/stream_bayes
RUN stream-bayes warm-up

ENTRYPOINT ["stream-bayes"]
CMD ["run"]
