"""Tools for your own tests: checks of the learner contract, and a log in memory.

`yield_checks(learner)` yields one function for each promise of a learner.

    >>> from stream_bayes import BernoulliNB
    >>> from stream_bayes.testing import yield_checks
    >>> for check in yield_checks(BernoulliNB()):
    ...     check(BernoulliNB())

Each check takes a learner, works on clones of it, and raises AssertionError when a promise is broken. Checks need no
test framework. Give `yield_checks` learners with unusual hyperparameters: bugs hide where they are all 1.

`MemoryLog` is an event log in memory, with sentinels that crash its reader or end the stream.

contract   checks of every learner: predictions, input checks, batches
state      checks of snapshots and clones
additive   checks of learners that can be merged, unlearned and forgotten
streams    events and assertions that the checks share
"""

from __future__ import annotations

from collections.abc import Iterator

from stream_bayes.eventlog.memory import ABORT, EOF, Aborted, MemoryLog, MemoryStore
from stream_bayes.learners.base.learner import Learner
from stream_bayes.testing.additive import (
    check_forget_scales_evidence,
    check_merge_is_union,
    check_merge_refuses_other_learners,
    check_order_does_not_matter,
    check_unlearn_refuses_events_never_learned,
    check_unlearn_undoes_learn,
)
from stream_bayes.testing.contract import (
    check_bad_features_change_nothing,
    check_bad_targets_and_weights_change_nothing,
    check_batch_equals_loop,
    check_empty_and_unseen_events,
    check_keeps_no_reference_to_the_event,
    check_no_weight_is_no_event,
    check_numpy_scalars_are_numbers,
    check_predicting_changes_nothing,
    check_predictive_is_honest,
    check_predicts_before_learning,
    check_unlabelled_rows_teach_nothing,
    check_weight_counts_repetitions,
)
from stream_bayes.testing.state import (
    check_clone_has_no_data,
    check_names_are_refused_or_kept,
    check_restored_learner_goes_on_exactly,
    check_saved_learner_goes_on_exactly,
    check_state_is_a_copy,
)
from stream_bayes.testing.streams import (
    Check,
    Event,
    answer,
    answer_of,
    assert_close,
    assert_same_answers,
    events,
    frozen,
    partly_labelled,
    refused,
    targets,
    taught,
)

__all__ = [
    "ABORT",
    "EOF",
    "Aborted",
    "Check",
    "Event",
    "MemoryLog",
    "MemoryStore",
    "answer",
    "answer_of",
    "assert_close",
    "assert_same_answers",
    "check_bad_features_change_nothing",
    "check_bad_targets_and_weights_change_nothing",
    "check_batch_equals_loop",
    "check_clone_has_no_data",
    "check_empty_and_unseen_events",
    "check_forget_scales_evidence",
    "check_keeps_no_reference_to_the_event",
    "check_merge_is_union",
    "check_merge_refuses_other_learners",
    "check_names_are_refused_or_kept",
    "check_no_weight_is_no_event",
    "check_numpy_scalars_are_numbers",
    "check_order_does_not_matter",
    "check_predicting_changes_nothing",
    "check_predictive_is_honest",
    "check_predicts_before_learning",
    "check_restored_learner_goes_on_exactly",
    "check_saved_learner_goes_on_exactly",
    "check_state_is_a_copy",
    "check_unlabelled_rows_teach_nothing",
    "check_unlearn_refuses_events_never_learned",
    "check_unlearn_undoes_learn",
    "check_weight_counts_repetitions",
    "events",
    "frozen",
    "partly_labelled",
    "refused",
    "targets",
    "taught",
    "yield_checks",
]


def yield_checks(learner: Learner) -> Iterator[Check]:
    """The checks that apply to this kind of learner."""
    yield check_predicts_before_learning
    yield check_predicting_changes_nothing
    yield check_keeps_no_reference_to_the_event
    yield check_bad_features_change_nothing
    yield check_bad_targets_and_weights_change_nothing
    yield check_names_are_refused_or_kept
    yield check_batch_equals_loop
    yield check_unlabelled_rows_teach_nothing
    yield check_restored_learner_goes_on_exactly
    yield check_saved_learner_goes_on_exactly
    yield check_state_is_a_copy
    yield check_clone_has_no_data
    yield check_numpy_scalars_are_numbers
    yield check_empty_and_unseen_events
    yield check_weight_counts_repetitions
    yield check_no_weight_is_no_event
    yield check_predictive_is_honest
    if learner.is_additive:
        yield check_order_does_not_matter
        yield check_merge_is_union
        yield check_merge_refuses_other_learners
        yield check_unlearn_undoes_learn
        yield check_unlearn_refuses_events_never_learned
        yield check_forget_scales_evidence
