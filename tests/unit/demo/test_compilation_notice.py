"""What is said while code is loaded and compiled."""

from __future__ import annotations

import io
import sys
from collections import Counter
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest
from rich.console import Console

from stream_bayes.demo import startup_screen
from stream_bayes.kernels.common.jit_stats import NOTICE, compiled_kernels


def test_kernels_count_their_compilations() -> None:
    miss = SimpleNamespace(kernel=SimpleNamespace(stats=SimpleNamespace(cache_misses=Counter({"one signature": 1}))))
    before = compiled_kernels()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "stream_bayes.kernels.invented", cast("ModuleType", miss))
        assert compiled_kernels() == before + 1


def test_a_terminal_shows_the_compilation_notice_in_place_of_loading() -> None:
    usual = NOTICE.announce
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with startup_screen.StartupScreen(console, sys.exit) as shown:
        NOTICE.announce("compiling [kernels]")
        assert "compiling [kernels] ..." in shown.text
    assert NOTICE.announce == usual


def test_without_a_terminal_the_notice_is_unchanged() -> None:
    usual = NOTICE.announce
    console = Console(file=io.StringIO(), width=120)
    with startup_screen.StartupScreen(console, sys.exit):
        assert NOTICE.announce == usual
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == ""
