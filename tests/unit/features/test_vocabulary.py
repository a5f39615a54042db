"""Names and their columns: the hash index says what the dict says, in every process."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stream_bayes import BernoulliNB
from stream_bayes.features import Vocabulary
from stream_bayes.kernels.common.hash_index import empty_index, insert_hashes

IMPORTS = "import ast, pathlib, pickle, sys; from stream_bayes import BernoulliNB"
NAMES = [f"word {number}" for number in range(5000)]


def test_the_index_agrees_with_a_dict() -> None:
    vocabulary = Vocabulary()
    for begin in range(0, 4000, 37):
        vocabulary.register(NAMES[begin : begin + 37])
    assert vocabulary._index is not None
    fresh = ["".join(name) for name in NAMES]  # equal, but not the same objects
    expected = [vocabulary._columns.get(name, -1) for name in NAMES]
    assert vocabulary.lookup(fresh).tolist() == expected
    assert vocabulary.lookup(fresh[:3]).tolist() == expected[:3]


@pytest.mark.parametrize("other", [7, ("a", "b"), None, 2.5])
def test_other_names_than_strings_are_left_to_the_dict(other: object) -> None:
    vocabulary = Vocabulary()
    vocabulary.register(NAMES[:50])
    vocabulary.register([other])
    assert vocabulary._index is None
    assert vocabulary.lookup([*NAMES[:20], other, "never"]).tolist() == [*range(20), 50, -1]


def test_hashes_that_meet_are_noticed() -> None:
    """Then the index is given up: the dict tells the names apart."""
    index = empty_index(10)
    assert insert_hashes(np.array([5, -3, 5 + len(index.hashes)]), 0, index)
    assert not insert_hashes(np.array([8, -3]), 3, index)


def test_copies_and_truncation_keep_the_index_right() -> None:
    vocabulary = Vocabulary()
    vocabulary.register(NAMES[:100])
    twin = copy.deepcopy(vocabulary)
    twin.register(NAMES[100:120])
    assert vocabulary.lookup(NAMES[90:120]).tolist() == [*range(90, 100), *[-1] * 20]
    assert twin.lookup(NAMES[90:120]).tolist() == list(range(90, 120))
    twin.truncate(95)
    assert twin.lookup(NAMES[90:120]).tolist() == [*range(90, 95), *[-1] * 25]


@pytest.mark.long
def test_another_process_has_other_hashes(tmp_path: Path) -> None:
    """Python salts its hashes: a learner that was pickled elsewhere must not trust the old ones."""
    model = BernoulliNB()
    for number, name in enumerate(NAMES[:200]):
        model.learn_one(dict.fromkeys(NAMES[:20], 1) | {name: 1}, ("ham", "spam")[number % 2])
    x = dict.fromkeys(NAMES[15:60], 1)
    model.save(tmp_path / "model")
    write = "m = BernoulliNB.load(sys.argv[1]); pathlib.Path(sys.argv[2]).write_bytes(pickle.dumps(m))"
    read = (
        "m = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes()); "
        "print(m.predict_proba_one(ast.literal_eval(sys.argv[2])))"
    )
    for seed, script, arguments in (("1", write, ["model", "pickled"]), ("2", read, ["pickled"])):
        files = [str(tmp_path / name) for name in arguments]
        command = [sys.executable, "-c", f"{IMPORTS}; {script}", *files, repr(x)]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == repr(model.predict_proba_one(x))
