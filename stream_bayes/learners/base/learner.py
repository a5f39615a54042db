"""Learner: the contract of every learner; Additive: that of learners with sufficient statistics.

A learner is a river estimator that learns from one event at a time and predicts with its uncertainty:

- `learn_one` is all or nothing: it computes, checks, assigns; a refused update leaves the state byte-equal.
- `predict_one`, `predict_proba_one` and `predictive_one` never change what the learner knows, and are valid before
  any learning: they come from the prior then.
- `test_then_train` scores each row of a batch and then learns it, bit for bit what a loop of single calls gives;
  `learn_many` learns without scoring, `predictive_many` scores without learning.
- `state` and `from_state` are the whole learner as parameters and arrays; `save` and `load` put it into a file.
- `snapshot_copy` is a copy in memory, and `copy_into` updates one, for readers while the learner goes on.
- `clone` has the same prior and no data; constructor parameters are never changed.

`stream_bayes.testing.yield_checks` is this list as code.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

from river import base

from stream_bayes import learner_registry, notebook_html, plots
from stream_bayes.errors import InputError, MergeError, NoPosterior, ParameterError, SnapshotDamaged, SnapshotError
from stream_bayes.features.values import Features, plain
from stream_bayes.learners.base.weight_prior import WeightPrior
from stream_bayes.notebook_html import Html
from stream_bayes.persistence import snapshot
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import Beta, Dirichlet, Gamma, MvNormal, Normal, NormalInverseGamma, StudentT
from stream_bayes.validation import check_scale, non_negative

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Posteriors that a constructor parameter may be; nothing else but plain values is built from a file.
_PRIORS = {
    kind.__name__: kind
    for kind in (Beta, Dirichlet, Gamma, MvNormal, Normal, NormalInverseGamma, StudentT, WeightPrior)
}

LARGEST_EVIDENCE = 1e30
"""Largest total weight of merged learners: no stream reaches it, but a learner merged with itself may."""


class LearnerState(NamedTuple):
    """The state of a learner: enough to build the same learner again."""

    kind: str
    """Name of the class."""
    parameters: dict[str, Any]
    """Constructor parameters, as JSON can hold them."""
    arrays: Arrays


class Learner(base.Estimator):
    """Base class of all learners: state, snapshots and copies."""

    reads_mail: ClassVar[bool] = False
    """Whether it takes whole messages as bytes; other learners are given the words of a message."""
    has_fixed_labels: ClassVar[bool] = False
    """Whether it takes no other labels than its `classes`."""
    remembers: ClassVar[bool] = False
    """Whether it can remember events, so that `test_then_train` takes `remember`, a truth value for each."""
    decision_parameters: ClassVar[tuple[str, ...]] = ()
    """The constructor parameters that decide between actions and do not shape what is learned."""
    posterior_kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of parameters that have a posterior by name, such as word, feature or weight."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        learner_registry.register(cls._kind_name(), cls)

    @classmethod
    def _kind_name(cls) -> str:
        """The name in a snapshot: the name of the class, with its module where it is not of this package."""
        return cls.__name__ if cls._is_ours() else f"{cls.__module__}.{cls.__qualname__}"

    @classmethod
    def _is_ours(cls) -> bool:
        """Whether the class is of this package."""
        return cls.__module__.startswith("stream_bayes.")

    @property
    def is_additive(self) -> bool:
        """Whether the evidence is a sum over events, so that it can be merged, taken back and scaled (`Additive`)."""
        return False

    def _evidence_summary(self) -> dict[str, Any]:
        """The evidence on the notebook card, by name: the number of events learned, of features, of each class."""
        return {}

    def _estimates(self) -> Mapping[str, plots.UncertainNumber | float]:
        """What `plot` draws, by name: weights or probabilities, each with its posterior where it has one."""
        return {}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what was learned: the weights, or the probabilities of the labels, with their 90 % intervals.

        It is drawn into `ax`, or without one into the current axes. Needs matplotlib, the extra `plots`.
        """
        estimates = self._estimates()
        if not estimates:
            message = f"this {type(self).__name__} has nothing to draw: no weights and no labels"
            raise NoPosterior(message)
        return plots.draw_intervals(estimates, type(self).__name__, ax)

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the class, the parameters that are not the defaults, and the evidence."""
        parameters = self._get_params()
        defaults = {name: entry.default for name, entry in signature(type(self).__init__).parameters.items()}
        changed = {name: value for name, value in parameters.items() if not _is_same(value, defaults.get(name))}
        rows = {name: _shown(value) for name, value in (changed | self._evidence_summary()).items() if value != {}}
        everything = {name: _shown(value) for name, value in parameters.items()}
        return notebook_html.card(type(self).__name__, rows, details=everything)

    @abstractmethod
    def _arrays(self) -> Arrays:
        """Everything learned, as arrays that are not shared."""

    @abstractmethod
    def _restore(self, arrays: Arrays) -> None:
        """Restore what `_arrays` returned; this learner is fresh from its constructor."""

    @staticmethod
    def find_class(name: str) -> type[Learner]:
        """The learner class of that name; raises `SnapshotError` where none is registered."""
        try:
            kind: type[Learner] = learner_registry.find(name)
        except KeyError:
            message = f"no learner {name!r} is known: import the module that defines it first"
            raise SnapshotError(message) from None
        return kind

    def state(self) -> LearnerState:
        """The whole learner as its class, its parameters and arrays; a copy that later learning does not touch."""
        return LearnerState(*self.description(), self._arrays())

    def description(self) -> tuple[str, dict[str, Any]]:
        """The class and the parameters of the state, without what was learned."""
        return self._kind_name(), _encode_parameters(self)

    def snapshot_copy(self) -> Self:
        """A copy that shares nothing with this learner, for readers while this one learns."""
        target = self.clone()
        self._copy_into(target)
        return target

    def copy_into(self, target: Learner) -> None:
        """Update an earlier copy to the current state; it must not be read meanwhile."""
        if type(target) is not type(self) or target.description() != self.description():
            message = f"a copy is made by this learner's own snapshot_copy(); got {target!r} for {self!r}"
            raise ParameterError(message)
        self._copy_into(cast(Self, target))

    def prefault(self) -> None:
        """Touch the pages of large arrays now, so that a first copy into them is as fast as later ones."""

    def _copy_into(self, target: Self) -> None:
        """Copy all that was learned into a learner of the same parameters."""
        fresh = self.clone()
        fresh._restore(self._arrays())
        vars(target).clear()
        vars(target).update(vars(fresh))

    @classmethod
    def from_state(cls, state: LearnerState, copy: bool = True) -> Self:
        """The learner that `state` describes; without `copy` the state's arrays are the learner's own from then on."""
        kind = Learner.find_class(state.kind)
        if not issubclass(kind, cls):
            message = f"this is the state of a {state.kind}, not of a {cls.__name__}"
            raise SnapshotError(message)
        try:
            learner = kind(**{name: _decode(value) for name, value in state.parameters.items()})
        except snapshot.DAMAGED as problem:
            message = f"the parameters do not make a {state.kind}: {problem!r}"
            raise SnapshotDamaged(message) from problem
        learner.restore(state.arrays, copy=copy)
        return learner

    def restore(self, arrays: Arrays, copy: bool = True) -> None:
        """Take over what a learner of the same class and parameters has learned, into this one, which is new.

        Without `copy` the arrays are its own from then on. If they are damaged it raises `SnapshotDamaged`, and must
        not be used.
        """
        try:
            self._restore({name: array.copy() if copy else array for name, array in arrays.items()})
        except snapshot.DAMAGED as problem:
            message = f"the arrays do not make a {self._kind_name()}: {problem!r}"
            raise SnapshotDamaged(message) from problem

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file (safetensors), whole or not at all."""
        state = self.state()
        snapshot.write(path, {"class": state.kind, "parameters": state.parameters}, state.arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a learner back; `Learner.load` takes any kind, a subclass only its own."""
        return cls.from_snapshot(path, *snapshot.read(path))

    @classmethod
    def from_snapshot(cls, path: str | os.PathLike[str], header: Any, arrays: Arrays) -> Self:
        """The learner of a snapshot that was read from a path; its arrays are the learner's own from then on."""
        try:
            state = LearnerState(str(header["class"]), dict(header["parameters"]), arrays)
        except (KeyError, TypeError, ValueError) as problem:
            message = f"{path}: the header does not describe a learner ({problem!r})"
            raise SnapshotDamaged(message) from problem
        try:
            return cls.from_state(state, copy=False)
        except SnapshotError as problem:
            message = f"{path}: {problem}"
            raise type(problem)(message) from problem


def load(path: str | os.PathLike[str]) -> Learner:
    """Read a learner of any kind back from the file that its `save(path)` wrote."""
    return Learner.load(path)


class Additive(Learner):
    """A learner whose evidence is a sum of sufficient statistics over its events.

    From that one fact follow three operations that other learners lack. To `merge` is to add two sums: the posterior
    of both data sets. To `unlearn_one` is to subtract one term: the posterior as if the event had never come; it is
    refused when the sum would no longer be one of events. To `forget` is to scale the sum, never the prior: the
    posterior relaxes towards the prior. A mini-batch is no different from its events, and their order does not matter.
    """

    @property
    def is_additive(self) -> bool:
        """Whether it does with these parameters; where it does not, the three operations are refused."""
        return True

    def merge(self, other: Self) -> None:
        """Add the evidence of another learner of the same class and parameters to this one."""
        if type(other) is not type(self):
            message = f"cannot merge a {type(other).__name__} into a {type(self).__name__}"
            raise MergeError(message)
        mine = self._get_params()
        theirs = other._get_params()
        differences = [name for name in mine if mine[name] != theirs[name]]
        if differences:
            shown = ", ".join(f"{name} is {mine[name]!r} here and {theirs[name]!r} there" for name in differences)
            message = f"cannot merge learners with different parameters: {shown}"
            raise MergeError(message)
        total = self._evidence_weight() + other._evidence_weight()
        if not total <= LARGEST_EVIDENCE:
            message = f"the merged events would weigh {total:g}; at most {LARGEST_EVIDENCE:g}, so that no sum overflows"
            raise MergeError(message)
        try:
            self._absorb(deepcopy(other) if other is self else other)
        except InputError as problem:
            message = f"cannot merge learners whose features differ in type: {problem}"
            raise MergeError(message) from problem

    def forget(self, factor: float) -> None:
        """Scale all evidence by `factor`, between 0 (back to the prior) and 1 (nothing forgotten)."""
        share = non_negative("factor", factor)
        if share > 1.0:
            message = f"factor must lie between 0 and 1; got {factor}"
            raise ParameterError(message)
        check_scale("factor", share)
        self._scale(share)

    @abstractmethod
    def unlearn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Take one event back; raises `UnlearnError`, and changes nothing, when it cannot have been learned."""

    def _evidence_weight(self) -> float:
        """The sum of the weights of all events, or the largest of several such sums."""
        return 0.0

    @abstractmethod
    def _absorb(self, other: Self) -> None:
        """Add the evidence of `other`, which has the same parameters."""

    @abstractmethod
    def _scale(self, factor: float) -> None:
        """Multiply the evidence by a factor between 0 and 1."""


def _is_same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _shown(value: Any) -> object:
    """A parameter or a figure as the text of a notebook."""
    if isinstance(value, Mapping):
        return notebook_html.entries_text(value)
    if isinstance(value, tuple) and type(value) is tuple:
        return ", ".join(str(_shown(part)) for part in value)
    return notebook_html.number(value) if isinstance(value, float) else str(value)


def _encode_parameters(learner: Learner) -> dict[str, Any]:
    return {name: _encode(value) for name, value in learner._get_params().items()}


def _encode(value: Any) -> Any:
    if type(value).__name__ in _PRIORS:
        return {"posterior": type(value).__name__, "fields": list(value)}
    if isinstance(value, Learner):
        return {"learner": value._kind_name(), "parameters": _encode_parameters(value)}
    if isinstance(value, tuple):
        return {"tuple": [_encode(part) for part in value]}
    return plain(value)


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(_decode(part) for part in value["tuple"])
    if "learner" in value:
        parameters = {name: _decode(part) for name, part in value["parameters"].items()}
        return learner_registry.find(value["learner"])(**parameters)
    return _PRIORS[value["posterior"]](*value["fields"])
