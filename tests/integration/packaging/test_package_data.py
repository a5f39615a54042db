"""What is installed with the package."""

from __future__ import annotations

import tomllib

from packaging.requirements import Requirement

from tests.support.commands import ROOT

KAFKA = {"kafka-python", "crc32c", "lz4", "python-snappy", "zstandard"}


def test_item17_the_kafka_client_and_its_codecs_are_core_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {Requirement(needed).name for needed in project["dependencies"]} >= KAFKA
    assert "kafka" not in project["optional-dependencies"]


def test_item17_nothing_names_an_extra_of_the_package_that_does_not_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    development = (Requirement(needed) for needed in project["optional-dependencies"]["dev"])
    assert {extra for needed in development for extra in needed.extras} <= set(project["optional-dependencies"])
    for name in ("README.md", "CONTRIBUTING.md", "Dockerfile", "Makefile"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "stream_bayes[kafka" not in text
        assert "[kafka," not in text
