"""What is said while code is loaded and compiled."""

from __future__ import annotations

import io
import sys
from collections import Counter
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest
from rich.console import Console

from stream_bayes.demo import waiting
from stream_bayes.kernels.counting import compiled_kernels
from tests.signals import LIMIT


def test_kernels_count_what_they_compile() -> None:
    miss = SimpleNamespace(kernel=SimpleNamespace(stats=SimpleNamespace(cache_misses=Counter({"one signature": 1}))))
    before = compiled_kernels()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "stream_bayes.kernels.invented", cast("ModuleType", miss))
        assert compiled_kernels() == before + 1


def test_compiling_is_announced_only_when_it_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    for misses, said in ((0, ""), (1, f"{waiting.COMPILING}\n")):
        monkeypatch.setattr(waiting, "compiled_kernels", lambda misses=misses: misses)
        console = Console(file=io.StringIO(), width=120)
        waiting_room = waiting.Waiting(console, sys.exit)
        with waiting_room:
            # It ends by itself once it has said so; where nothing is compiled it never does.
            waiting_room._watcher.join(LIMIT if misses else 0.2)
        assert isinstance(console.file, io.StringIO)
        assert console.file.getvalue() == said
