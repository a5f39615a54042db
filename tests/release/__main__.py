"""`python -m tests.release`: build the release into dist/ and check it; nothing is uploaded.

1. Everything is committed, and the version is the newest in CHANGELOG.md. With `--unreleased` the version may be any.
2. The wheel and the source distribution hold the files that git tracks, and the latter builds the same wheel.
3. `twine check` accepts both.
4. The wheel is installed into an empty environment with what it depends on, and the demo runs there.

Exits with 1 and the reason if anything is wrong. dist/ then stays as it was.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

from stream_bayes import __version__
from tests.release import archives, installation
from tests.release.archives import ReleaseError

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Make the release, or exit with what is wrong."""
    with tempfile.TemporaryDirectory(prefix="stream-bayes-release-") as folder:
        try:
            if "--unreleased" not in sys.argv[1:]:
                archives.check_version(__version__, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
            built = build_archives(Path(folder))
            try_installation(Path(folder), *built)
        except ReleaseError as error:
            sys.exit(f"release: {error}")
        report(copy_to_dist(built))


def build_archives(folder: Path) -> tuple[Path, Path]:
    """Build the wheel and the source distribution, and check what is in them."""
    tracked = archives.tracked_files(ROOT)
    wheel = archives.build(ROOT, folder / "wheel", "wheel")
    sdist = archives.build(ROOT, folder / "sdist", "sdist")
    archives.check_wheel(archives.wheel_names(wheel), tracked, __version__)
    archives.check_sdist(archives.sdist_names(sdist), tracked)
    say(f"built {__version__}: both archives hold the files that git tracks")
    again = archives.build(archives.unpack_sdist(sdist, folder / "unpacked"), folder / "again", "wheel")
    archives.check_same_bytes(wheel, again)
    say("the source distribution builds the same wheel, byte for byte")
    return wheel, sdist


def try_installation(folder: Path, wheel: Path, sdist: Path) -> None:
    """Install the wheel as a user would, and run the demo without and with the page."""
    installation.check_metadata(installation.Environment(folder / "twine"), [wheel, sdist])
    say("twine accepts the metadata of both")
    environment = installation.Environment(folder / "environment")
    environment.install(str(wheel))
    installation.check_installed(environment, __version__)
    say("the wheel is installed into an empty environment, with what it depends on")
    (folder / "empty").mkdir()
    start = time.monotonic()
    figures = installation.run_demo(environment, folder / "empty")
    say(f"the demo ran there: {figures['predictions']:,} mails in {time.monotonic() - start:.0f} seconds")
    environment.install(f"{wheel}[web]")
    installation.check_page(environment, folder)
    say("with the extra `web`, the page of the demo was served and stopped")


def copy_to_dist(built: tuple[Path, Path]) -> list[Path]:
    """Put the archives into dist/ in place of those that are there."""
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for pattern in ("*.whl", "*.tar.gz"):
        for old in dist.glob(pattern):
            old.unlink()
    return [Path(shutil.copy2(archive, dist)) for archive in built]


def report(built: list[Path]) -> None:
    """Say what was built, and that it has not left this machine."""
    for path in built:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        say(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes  sha256 {digest}")
    say("nothing was uploaded")


def say(text: str) -> None:
    """Print a line at once, also into a pipe."""
    print(f"release: {text}", flush=True)


if __name__ == "__main__":
    main()
