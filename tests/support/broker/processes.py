"""What a broker's process needs around it: a port that stays its own, and a guard that outlives the tests."""

from __future__ import annotations

import contextlib
import random
import socket
import subprocess
from pathlib import Path

HOST = "127.0.0.1"

# Below the ports the kernel gives to outgoing connections (from 32768). A client that retries a killed
# broker's port could otherwise be given that very port as its own and connect to itself.
PORTS = range(20_000, 32_000)

# Waits until the pipe from the tests closes, which happens however they end, SIGKILL included. It removes
# the folder a second after the kill, when the broker has let go of its files.
GUARD = 'read -r line; kill -s KILL -- "-$1" 2>/dev/null; sleep 1; rm -rf -- "$2"'


class BrokerError(RuntimeError):
    """The broker did not start; the message holds the end of its log."""


def free_ports(count: int) -> list[int]:
    """Return this number of different free ports."""
    found: list[int] = []
    for port in random.sample(PORTS, k=100 * count):
        with socket.socket() as candidate, contextlib.suppress(OSError):
            candidate.bind((HOST, port))
            found.append(port)
        if len(found) == count:
            return found
    message = f"no {count} free ports found between {PORTS.start} and {PORTS.stop}"
    raise BrokerError(message)


def listens(port: int) -> bool:
    """Whether a server accepts connections there."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def run(command: list[str], what: str, seconds: float) -> None:
    """Run a program that is over soon; raises BrokerError with what it printed if it fails."""
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    if done.returncode != 0:
        message = f"{what} failed:\n{done.stdout}"
        raise BrokerError(message)


def start_guard(group: int, folder: Path) -> subprocess.Popen[bytes]:
    """Start the process that ends a group of processes and removes their folder if this process dies."""
    command = ["sh", "-c", GUARD, "guard", str(group), str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def dismiss(guard: subprocess.Popen[bytes]) -> None:
    """End a guard that is no longer needed."""
    guard.kill()
    guard.communicate()
