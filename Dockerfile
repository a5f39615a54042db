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

# The demo runs a worker on generated mail, kills it and recovers it: a test of the image that compiles all of the
# kernels a worker needs, which takes a minute. The machine code is for the kind of processor it was made on; on another
# kind the worker compiles its own into the same folder, in the container.
ENV NUMBA_CACHE_DIR=/var/cache/stream_bayes
RUN stream-bayes demo --mails 300 --budget 60 --fast --folder /tmp/demo && rm -r /tmp/demo

ENTRYPOINT ["stream-bayes"]
CMD ["run"]
