"""A classifier of two labels over columns: the labels are declared, or learned as they come."""

from __future__ import annotations

from collections.abc import Sequence

from stream_bayes.kernels.common.csr import Joint
from stream_bayes.learners.base.column_classifier import ColumnClassifier
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.base.two_labels import LabelPair, TwoLabels


class BinaryClassifier(ColumnClassifier):
    """Two labels, the first with code 0, the second with code 1."""

    _labels: TwoLabels

    def __init__(self, classes: tuple[Label, Label] | None, buckets: int | None) -> None:
        super().__init__(classes, buckets)
        self._labels = TwoLabels(classes)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels known: those declared, or those learned so far; of two, the log-odds are those of the second."""
        return tuple(self._labels)

    def _predictions(self, joint: Joint, before: LabelPair, labels: Sequence[Label | None]) -> LabelPredictions:
        return self._labels.name(LabelPredictions.from_joint(self._labels.pair.labels, joint), before, labels)

    def _unit_test_skips(self) -> set[str]:
        # river wants the keys False and True before the first label: those are known only where they are declared.
        return {"check_predict_proba_one_binary"} if self.classes is None else set()

    @property
    def _multiclass(self) -> bool:
        return False
