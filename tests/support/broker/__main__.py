"""Run the test broker in the foreground: ``python -m tests.support.broker [PORT]``, until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import time

from tests.support.broker import Broker, BrokerError, JarsError, kafka_jars, missing_tools

DEFAULT_PORT = 9092


def main(arguments: list[str]) -> int:
    """Run the broker until it is interrupted; its data are gone when it ends."""
    port = int(arguments[0]) if arguments else DEFAULT_PORT
    if missing := missing_tools():
        print(f"A broker needs {' and '.join(missing)}: install Java 17 and Maven.", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print("Starting Kafka; the first time it is downloaded, which takes a minute or two.", flush=True)
        with Broker(kafka_jars(), port, quick=False) as broker:
            print(f"Kafka listens on {broker.address}; Ctrl-C ends it and removes its data.", flush=True)
            while broker.running:
                time.sleep(1.0)
            print("Kafka was killed.", file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        print("Kafka has ended.")
    except (BrokerError, JarsError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
