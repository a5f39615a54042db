"""Registry of learner classes by name: snapshots and settings find a learner's class here.

A class registers itself when it is defined (`Learner.__init_subclass__`), also one that is defined outside of this
package. Classes of this package are announced with the module that defines them, which is imported at the first lookup.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_classes: dict[str, type[Any]] = {}
_modules: dict[str, str] = {}


def announce(modules: Mapping[str, str]) -> None:
    """Name the modules that define classes which are not imported yet: module by name of the class."""
    _modules.update(modules)


def register(name: str, kind: type[Any]) -> None:
    """Enter a class under a name; a later class of the same name replaces it."""
    _classes[name] = kind


def find(name: str) -> type[Any]:
    """The class of that name; raises `KeyError` where none is registered or announced."""
    if name not in _classes and name in _modules:
        import_module(_modules[name])
    return _classes[name]


def known_names() -> list[str]:
    """The names of the announced classes, in order; classes of other packages are not listed."""
    return sorted(_modules)
