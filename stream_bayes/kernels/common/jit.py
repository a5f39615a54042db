"""The decorator that compiles a kernel with numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from numba import njit
from numba.core import event

from stream_bayes.kernels.common.jit_cache import FOLDERS, KernelCache
from stream_bayes.kernels.common.jit_stats import NOTICE

_PREFIX = "stream_bayes.kernels."

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile on first call, without the interpreter lock, and keep the machine code on disk.

    Division by zero gives an infinity, as in numpy: kernels never raise.
    """
    return _compiled(function, "never")


def inlined(function: Function) -> Function:
    """Compile a function into the kernels that call it: no slice handed over is reference-counted (-15 %)."""
    return _compiled(function, "always")


def _compiled(function: Function, inline: Literal["never", "always"]) -> Function:
    dispatcher = njit(nogil=True, error_model="numpy", inline=inline)(function)
    if hasattr(dispatcher, "_cache"):  # there is none under NUMBA_DISABLE_JIT
        dispatcher._cache = KernelCache(function)
    return cast(Function, dispatcher)


class _CompilationListener(event.Listener):
    """Passes the start and the end of every compilation of a kernel on to the notice."""

    def on_start(self, event: Any) -> None:
        """Note the kernel's module."""
        if module := _kernel_module(event):
            NOTICE.start(module)

    def on_end(self, event: Any) -> None:
        """Note that the compilation of a kernel has ended, also by an error."""
        if _kernel_module(event):
            NOTICE.end()


def _kernel_module(event: Any) -> str:
    """The name of the module that a compiled kernel is in; empty for other people's functions."""
    module = str(event.data["dispatcher"].py_func.__module__)
    return module.removeprefix(_PREFIX) if module.startswith(_PREFIX) else ""


NOTICE.folder = FOLDERS.writable
event.register("numba:compile", _CompilationListener())  # type: ignore[no-untyped-call]
