"""The documentation as a site: it builds without a warning, links resolve, nothing is loaded, no page is too wide."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stream_bayes
import stream_bayes.active
import stream_bayes.testing
from tests.support.browser import launched
from tests.support.commands import ROOT

DOCS = ROOT / "docs"
REPOSITORY_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
PAGES = sorted([*DOCS.rglob("*.md"), *(ROOT / name for name in REPOSITORY_PAGES)])

_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)|\b(?:src|href)=\"([^\"]+)\"")
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ID = re.compile(r"\bid=\"([^\"]+)\"")
_LOADED = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"([^\"]+)\"|<link[^>]*rel=\"stylesheet\"[^>]*>")
_NARROW = 360
_TOO_WIDE = """[document.scrollingElement, ...document.querySelectorAll("[data-stacked]")]
  .filter((element) => element.scrollWidth > innerWidth).map((element) => element.textContent.trim().slice(0, 60))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: it would hide the warnings from --strict.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{run.stdout}{run.stderr}"
    return folder


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _links(page: Path) -> set[str]:
    """The links of a page that lead into the repository."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    targets = {found[1] or found[2] for found in _LINK.finditer(text)}
    return {target for target in targets if not _EXTERNAL.match(target)}


def _slug(heading: str) -> str:
    """The anchor that a code host gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _anchors(page: Path, site: Path) -> set[str]:
    """The anchors of a page: in the site if it is a page there, else those of its headings."""
    if not page.is_relative_to(DOCS):
        text = _CODE.sub(lambda code: "" if code[1] else code[0], page.read_text(encoding="utf-8"))
        return {_slug(heading) for heading in _HEADING.findall(text)}
    place = page.relative_to(DOCS).with_suffix("")
    folder = place.parent if place.name == "index" else place
    return set(_ID.findall((site / folder / "index.html").read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_of_a_page_resolve(page: Path, site: Path) -> None:
    broken = []
    for link in sorted(_links(page)):
        path, _, anchor = link.partition("#")
        target = Path(os.path.normpath(page.parent / path)) if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target, site)):
            broken.append(link)
    assert broken == []


def test_every_public_name_is_in_the_api_reference(site: Path) -> None:
    anchors = set(_ID.findall((site / "reference" / "api" / "index.html").read_text(encoding="utf-8")))
    described = {anchor.rpartition(".")[2] for anchor in anchors if anchor.startswith("stream_bayes.")}
    public = {*stream_bayes.__all__, *stream_bayes.active.__all__, *stream_bayes.testing.__all__, "Log"}
    assert public - described == set()


def test_no_generated_part_is_missing(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert "<!-- generated:" not in page.read_text(encoding="utf-8"), page


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    for page in site.rglob("*.html"):
        for found in _LOADED.finditer(page.read_text(encoding="utf-8")):
            assert "//" not in found[0], f"{page}: {found[0]}"


@pytest.mark.browser
def test_pages_and_tables_of_text_fit_a_narrow_screen(site: Path) -> None:
    with launched() as browser:
        page = browser.new_page(viewport={"width": _NARROW, "height": 2 * _NARROW})
        too_wide = {}
        for path in sorted(site.rglob("index.html")):
            page.goto(path.as_uri())
            too_wide[path.parent.name] = page.evaluate(_TOO_WIDE)
    assert {name: found for name, found in too_wide.items() if found} == {}
