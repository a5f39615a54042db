"""Which process runs which tests, where several share them."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

_OTHER_BROKER_TESTS = (
    "tests/chaos/test_chaos_kafka",
    "tests/contracts/test_log",
    "tests/integration/examples/test_kafka",
)


def group_of(path: str) -> str:
    """The group of a file of tests: one process runs a group, so its fixtures are made once.

    Tests that need a broker are two groups, each with a broker of its own; of the others each file is one.
    """
    if path.startswith("tests/integration/kafka/"):
        return "broker"
    if path.startswith(_OTHER_BROKER_TESTS):
        return "other broker"
    return path


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Hands out whole groups.

    `--dist=loadgroup` would do it by a mark, but xdist 3.8 does not see marks with pytest 9.2: it then hands out tests
    one by one, and every process starts every broker.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.split("::", 1)[0])
