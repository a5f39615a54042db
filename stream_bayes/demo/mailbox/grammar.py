r"""Generation of texts by a grammar. The rules are in `texts/`, one alternative a line.

greeting                a rule
  Hello {first},        its alternatives, after two blanks; {first} is another rule, a maker, or bound by the caller
  Dear {first},         \n is a line break

"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from random import Random

_SLOT = re.compile(r"\{([a-z_0-9]+)\}")

Parts = tuple[str, ...]
"""A template: texts and names of slots in turn. The first and the last are texts."""
Maker = Callable[[Random], str]


@cache
def read_rules() -> Mapping[str, tuple[Parts, ...]]:
    """Return the rules of all files, by name."""
    rules: dict[str, list[Parts]] = {}
    for file in sorted(files(__package__).joinpath("texts").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".txt"):
            _add_rules(rules, file.read_text("utf-8").splitlines())
    return {name: tuple(alternatives) for name, alternatives in rules.items()}


def _add_rules(rules: dict[str, list[Parts]], lines: Iterable[str]) -> None:
    alternatives: list[Parts] = []
    for line in lines:
        if line.startswith("  "):
            alternatives.append(split(line.strip()))
        elif line and not line.startswith("#"):
            alternatives = rules.setdefault(line.strip(), [])


def split(template: str) -> Parts:
    r"""Split a template into texts and slots.

    >>> split("Dear {first},\\nhello")
    ('Dear ', 'first', ',\nhello')
    """
    return tuple(_SLOT.split(template.replace("\\n", "\n")))


class GrammarWriter:
    """Generates texts by the rules, with its own random generator.

    A slot is filled by its value in `bound`, else by the maker of its name, else by an alternative of the rule of its
    name. A maker is called for each occurrence.
    """

    def __init__(self, random: Random, makers: Mapping[str, Maker]) -> None:
        self.random = random
        self.bound: dict[str, str | Maker] = {}
        self._makers = makers
        self._rules = read_rules()

    def bind(self, **values: str | Maker) -> None:
        """Set the values of slots for the text of one mail. Earlier values are removed."""
        self.bound = values

    def fill(self, name: str) -> str:
        """Return the text of a slot."""
        bound = self.bound.get(name) or self._makers.get(name)
        if isinstance(bound, str):
            return bound
        return bound(self.random) if bound is not None else self.write(name)

    def write(self, name: str) -> str:
        """Return the text of one alternative of a rule, drawn at random."""
        alternatives = self._rules[name]
        return self._written(alternatives[int(self.random.random() * len(alternatives))])

    def text(self, template: str) -> str:
        """Return the text of a template."""
        return self._written(split(template))

    def sentences(self, name: str, low: int, high: int) -> list[str]:
        """Return `low` to `high` different alternatives of a rule, or all if it has fewer, with a capital."""
        alternatives = self._rules[name]
        count = min(low + int(self.random.random() * (high - low + 1)), len(alternatives))
        written = map(self._written, self.random.sample(alternatives, count))
        return [sentence[:1].upper() + sentence[1:] for sentence in written]

    def _written(self, parts: Parts) -> str:
        return "".join([self.fill(part) if place & 1 else part for place, part in enumerate(parts)])
