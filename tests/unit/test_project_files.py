"""What pyproject.toml, the changelog, the Makefile and the workflows say about the project agrees."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from stream_bayes import __version__

ROOT = Path(__file__).parents[2]
# Folders and files in which the project describes itself.
DESCRIBED = ("stream_bayes", "docs", "examples", "benchmarks", ".github", ".ci")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(read("pyproject.toml"))["project"]
    return found


def jobs(workflow: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(read(f".github/workflows/{workflow}"))["jobs"]
    return found


def test_the_version_is_the_newest_release_of_the_changelog() -> None:
    headings = re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)
    released = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}", title) for title in headings]
    unreleased = headings[:1] == ["[Unreleased]"]
    versions = [found and found[1] for found in released[unreleased:]]
    # Before the first release there is no version in it.
    assert versions[:1] == [__version__] or (unreleased and versions == [] and __version__ == "0.1.0")


@pytest.mark.parametrize("package", ["eventlog", "persistence"])
def test_each_module_of_a_package_in_several_layers_has_its_place(package: str) -> None:
    contract = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"][0]
    assert package in contract["exhaustive_ignores"]
    placed = {name for layer in contract["layers"] for name in layer.split(" | ")}
    folder = ROOT / "stream_bayes" / package
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {f"{package}.{name}" for name in modules - {"__init__"}} == {
        name for name in placed if name.startswith(f"{package}.")
    }


def test_ci_checks_the_archives_also_while_changes_are_unreleased() -> None:
    commands = [step.get("run") for step in jobs("ci.yml")["wheel"]["steps"]]
    assert "make release-check" in commands
    assert "make release" not in commands


def test_the_changelog_links_to_the_deprecation_policy() -> None:
    assert "docs/how-to/upgrades.md#deprecation-policy" in read("CHANGELOG.md")
    assert "\n## Deprecation policy\n" in read("docs/how-to/upgrades.md")


def test_the_addresses_of_the_project_are_stated_once() -> None:
    hosts = {urlsplit(url).hostname or "" for url in project()["urls"].values()}
    hosts |= {maintainer["email"].partition("@")[2] for maintainer in project()["maintainers"]}
    files = [path for folder in DESCRIBED for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file() and path.name not in {"pyproject.toml", ".git"}]
    texts = {path: path.read_bytes() for path in files if path.suffix not in {".pyc", ".nbi", ".nbc", ".png"}}
    assert [(path, host) for path, text in texts.items() for host in hosts if host.encode() in text] == []


def test_the_classifiers_name_the_versions_of_python_that_ci_runs() -> None:
    matrix = jobs("ci.yml")["tests"]["strategy"]["matrix"]["python-version"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    assert named == matrix


@pytest.mark.parametrize("name", ["ci.yml", "nightly.yml"])
def test_every_job_runs_a_target_of_the_makefile(name: str) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.MULTILINE))
    for title, job in jobs(name).items():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        assert commands, title
        for command in commands:
            assert command.startswith("make "), command
            assert command.removeprefix("make ") in targets, command


def test_every_hook_of_pre_commit_is_local_and_its_program_is_pinned() -> None:
    programs = {"ruff": "ruff", "lint-imports": "import-linter", "mypy": "mypy"}
    pinned = {line.partition("==")[0] for line in read("requirements.txt").splitlines()}
    for repository in yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            program = Path(hook["entry"].split()[0])
            assert program.parent == Path(".venv/bin")
            assert programs[program.name] in pinned
