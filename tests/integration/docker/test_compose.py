"""docker-compose.yml and Dockerfile: what they name exists, what they run can be run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import typer
import yaml
from kafka import KafkaAdminClient, KafkaConsumer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from stream_bayes.cli.app import app
from stream_bayes.config import load_settings
from stream_bayes.web.security.auth import is_loopback
from tests.support.broker.jars import kafka_version

if TYPE_CHECKING:
    from tests.support.broker import Broker

ROOT = Path(__file__).parents[3]
GROUP = "compose-health"
TOPIC = "compose-health"

# A kernel of one line, and whether its machine code came from the cache.
USE_A_KERNEL = """
from stream_bayes.kernels.common.sigmoid import sigmoid
sigmoid(0.5)
print(__import__("stream_bayes").__file__, sum(sigmoid.stats.cache_hits.values()))
"""


class Step(NamedTuple):
    """An instruction of a Dockerfile."""

    name: str
    arguments: str


def dockerfile() -> list[Step]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [Step(*line.split(maxsplit=1)) for line in lines if line.strip()]


def variables(steps: list[Step]) -> dict[str, str]:
    parts = [step.arguments.partition("=") for step in steps if step.name == "ENV"]
    return {name: value for name, _, value in parts}


def services() -> dict[str, Any]:
    content: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return content["services"]


def check_command_line(arguments: list[str]) -> None:
    """Let the command line read the arguments, without doing what they say; raises if it cannot."""
    commands = typer.main.get_command(app)
    with commands.make_context("stream-bayes", list(arguments), resilient_parsing=False) as context:
        name, command, rest = commands.resolve_command(context, list(arguments))  # type: ignore[attr-defined]
        command.make_context(name, rest, parent=context)


def compose_program() -> list[str]:
    for program in (["docker", "compose"], ["docker-compose"]):
        found = shutil.which(program[0])
        if found and subprocess.run([*program, "version"], check=False, capture_output=True).returncode == 0:
            return program
    pytest.skip("no docker compose to check docker-compose.yml with (Debian: apt-get install docker-compose)")


def test_compose_takes_the_file() -> None:
    command = [*compose_program(), "--file", str(ROOT / "docker-compose.yml"), "config", "--quiet"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_broker_is_the_one_that_is_tested() -> None:
    assert services()["kafka"]["image"] == f"apache/kafka:{kafka_version()}"


def test_the_workers_command_and_settings_are_known() -> None:
    worker = services()["worker"]
    check_command_line(worker["command"])
    settings = load_settings(None, worker["environment"], {}).settings
    assert settings.group == worker["environment"]["STREAM_BAYES__GROUP"]
    host, port = settings.log.removeprefix("kafka://").split(":")
    assert f"INTERNAL://{host}:{port}" in services()[host]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert str(settings.checkpoint_folder) in [place.split(":")[1] for place in worker["volumes"]]


def test_the_page_is_of_the_same_log_group_and_checkpoints() -> None:
    web = services()["web"]
    worker = services()["worker"]
    check_command_line(web["command"])
    # Without a value it is that of whoever calls docker compose.
    assert web["environment"]["STREAM_BAYES__WEB__TOKEN"] is None
    given = {name: value for name, value in web["environment"].items() if value is not None}
    settings = load_settings(None, given, {}).settings
    assert {name: given[name] for name in worker["environment"]} == worker["environment"]
    assert web["ports"] == [f"127.0.0.1:{settings.web.port}:{settings.web.port}"]
    # Others reach it there, so it asks for a token.
    assert not is_loopback(settings.web.host)
    assert web["volumes"] == [f"{volume}:ro" for volume in worker["volumes"]]
    assert f"127.0.0.1:{settings.web.port}/readyz" in " ".join(web["healthcheck"]["test"])


def test_workers_can_be_many() -> None:
    assert not {"container_name", "hostname", "ports"} & set(services()["worker"])


def test_the_folders_of_the_worker_belong_to_its_user() -> None:
    steps = dockerfile()
    made = next(step.arguments for step in steps if "install --directory" in step.arguments)
    user = next(step.arguments for step in steps if step.name == "USER")
    folders = shlex.split(made.partition(f"--owner={user}")[2])
    assert services()["worker"]["environment"]["STREAM_BAYES__CHECKPOINT__FOLDER"] in folders
    assert variables(steps)["NUMBA_CACHE_DIR"] in folders
    names = [step.name for step in steps]
    assert names.index("USER") < names.index("ENTRYPOINT")


def test_files_copied_by_the_dockerfile_exist_and_are_not_ignored() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}
    steps = [step for step in dockerfile() if step.name == "COPY" and "--from" not in step.arguments]
    copied = {source for step in steps for source in step.arguments.split()[:-1]}
    assert copied == kept
    assert all((ROOT / source).exists() for source in copied)


def test_commands_of_the_dockerfile_exist() -> None:
    steps = dockerfile()
    programs = [shlex.split(part) for step in steps if step.name == "RUN" for part in step.arguments.split("&&")]
    ours = [program[1:] for program in programs if program[0] == "stream-bayes"]
    assert ours
    for arguments in ours:
        check_command_line(arguments)
    ending = {step.name: yaml.safe_load(step.arguments) for step in steps if step.name in {"ENTRYPOINT", "CMD"}}
    assert ending["ENTRYPOINT"] == ["stream-bayes"]
    check_command_line(ending["CMD"])


def test_the_image_has_a_python_that_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    images = {step.arguments.split()[0] for step in dockerfile() if step.name == "FROM"}
    version = re.fullmatch(r"python:(3\.\d+)-slim", images.pop())
    assert not images
    assert version
    assert f"Programming Language :: Python :: {version[1]}" in project["classifiers"]


def test_every_package_in_the_image_is_pinned() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(line.split("==")[0]) for line in lines if "==" in line}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["web"], "hatchling"]
    seen: set[str] = set()
    while wanted:
        needed = Requirement(wanted.pop())
        name = canonicalize_name(needed.name)
        if name not in seen and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            seen.add(name)
            wanted.extend(requires(name) or ())
    assert {"cramjam", "llvmlite", "kafka-python", "starlette", "pluggy"} <= seen
    assert seen <= pinned


@pytest.mark.long
@pytest.mark.broker
def test_the_health_check_finds_a_member_of_the_group(killable_broker: Broker, tmp_path: Path) -> None:
    with KafkaAdminClient(bootstrap_servers=killable_broker.address) as admin:
        admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
    assert health(killable_broker, tmp_path) != 0
    with KafkaConsumer(TOPIC, group_id=GROUP, bootstrap_servers=killable_broker.address) as consumer:
        while not consumer.assignment():
            consumer.poll(timeout_ms=100)
        assert health(killable_broker, tmp_path) == 0
    assert health(killable_broker, tmp_path) != 0


def health(broker: Broker, folder: Path) -> int:
    """Run the worker's health check as docker would, in a container whose address is this machine's own."""
    hostname = folder / "hostname"
    hostname.write_text("#!/bin/sh\necho 127.0.0.1\n", encoding="utf-8")
    hostname.chmod(0o755)
    kind, command = services()["worker"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {"STREAM_BAYES__LOG": f"kafka://{broker.address}", "STREAM_BAYES__GROUP": GROUP, "PATH": path}
    return subprocess.run(["sh", "-c", command.replace("$$", "$")], check=False, env={**os.environ, **given}).returncode


def test_kernels_compiled_by_the_build_are_used_later(tmp_path: Path) -> None:
    """The package belongs to another user, so only NUMBA_CACHE_DIR can be written to."""
    package = tmp_path / "package"
    cache = tmp_path / "cache"
    shutil.copytree(ROOT / "stream_bayes", package / "stream_bayes", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [package, *package.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    cache.mkdir()
    assert [use_a_kernel(package, cache), use_a_kernel(package, cache)] == [0, 1]
    assert not list(package.rglob("__pycache__"))
    for path in [package, *package.rglob("*")]:
        path.chmod(0o755)


def use_a_kernel(package: Path, cache: Path) -> int:
    """Call a kernel in a process that may not write where it has no right to, as root may; gives the hits."""
    # To root files are never read-only, unless it lacks this capability.
    weakly = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    environment = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(cache)}
    command = [*weakly, sys.executable, "-c", USE_A_KERNEL]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=package)
    assert done.returncode == 0, done.stderr
    place, hits = done.stdout.split()
    assert place.startswith(str(package))
    return int(hits)
