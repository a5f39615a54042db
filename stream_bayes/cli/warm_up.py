"""`stream-bayes warm-up`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from stream_bayes.cli.app import FAILED, Json, print_error
from stream_bayes.cli.run import Config, load_command_settings

if TYPE_CHECKING:
    from stream_bayes.config import LearnerSettings
    from stream_bayes.engine.model_adapter import ModelAdapter

_SPAM = b"From: Win <win@prizes.example>\nSubject: =?utf-8?Q?You_have_won?=\n\nClick http://prizes.example/cash now!\n"
_HAM = b"From: ann@example.org\nSubject: Lunch\nContent-Type: text/html\n\n<p>Shall we meet at <b>noon</b>?</p>\n"
# Kernels do not depend on the size of the table.
_SMALL = {"buckets": 2**10}


class WarmUpStep(NamedTuple):
    """Compilation of the kernels for one use of the package."""

    name: str
    compiled: int
    """Kernels that were not cached."""
    seconds: float


def warm_up(config: Config = None, as_json: Json = False) -> None:
    """Compile the kernels of the mail filter and of the learner in the settings.

    A worker, classify, evaluate and the page then start without compiling. Prints what was compiled and where it is
    cached. The cache is next to the package if that
    folder is writable, so that one warm-up serves all users of an installation; NUMBA_CACHE_DIR names another folder.
    Exits with code 2 if no folder is writable.
    """
    settings = load_command_settings(config)
    steps: list[WarmUpStep] = []
    for name, use in _warm_up_tasks(settings.learner):
        steps.append(_measure(name, use))
        if not as_json:
            typer.echo(_format_step(steps[-1]))
    compiled = sum(step.compiled for step in steps)
    folder = _cache_folder(compiled)
    if as_json:
        found = [step._asdict() for step in steps]
        typer.echo(json.dumps({"steps": found, "compiled": compiled, "folder": folder and str(folder)}, indent=2))
    elif folder is not None:
        typer.echo(f"kept in {folder}")
    if compiled and folder is None:
        print_error("nothing was kept: set NUMBA_CACHE_DIR to a folder that can be written")
        raise typer.Exit(FAILED)


def _warm_up_tasks(learner: LearnerSettings) -> Iterator[tuple[str, Callable[[], None]]]:
    from stream_bayes.config import LearnerSettings

    mail_filter = LearnerSettings(name="SpamFilter", parameters=_SMALL)
    yield "classify", _warm_filter
    yield "worker", partial(_warm_worker, mail_filter)
    yield "evaluate", _warm_evaluation
    yield "page", partial(_warm_web, mail_filter)
    if learner.name != mail_filter.name:
        yield f"worker with {learner.name}", partial(_warm_worker, learner)
        yield f"page with {learner.name}", partial(_warm_web, learner)


def _measure(name: str, use: Callable[[], None]) -> WarmUpStep:
    from stream_bayes.kernels.common.jit_stats import compiled_kernels

    before = compiled_kernels()
    began_at = time.monotonic()
    use()
    return WarmUpStep(name, compiled_kernels() - before, time.monotonic() - began_at)


def _format_step(step: WarmUpStep) -> str:
    if not step.compiled:
        return f"{step.name}: nothing to compile"
    return f"{step.name}: compiled {step.compiled} kernels in {step.seconds:.1f} s"


def _cache_folder(compiled: int) -> Path | None:
    """Return the cache folder of the kernels compiled now, else of most kernels loaded; None if there is none."""
    from stream_bayes.kernels.common.jit_cache import FOLDERS

    return FOLDERS.chosen if compiled else max(FOLDERS.used, key=FOLDERS.used.__getitem__, default=None)


def _warm_filter() -> None:
    """Learn, correct, predict, decide and explain mails in every form."""
    from stream_bayes.mail.filter import SpamFilter

    for model in (SpamFilter(**_SMALL), SpamFilter.light(**_SMALL)):  # type: ignore[arg-type]
        model.learn_one(_SPAM, "spam")
        model.learn_one({"subject": "Lunch", "sender": "ann@example.org", "text": "at noon"}, "ham")
        model.relearn_one("Subject: Lunch\n\nat noon", "ham")
        model.test_then_train([_SPAM, _HAM], ["spam", None])
        model.decide_one(_HAM)
        model.explain(_SPAM)
        SpamFilter.from_state(model.state()).predictive_one(_HAM)


def _warm_worker(learner: LearnerSettings) -> None:
    """Run a worker on a short stream with label requests, labels and corrections; recover; use a checkpoint."""
    from stream_bayes.config import Settings
    from stream_bayes.eventlog.memory import MemoryLog, MemoryStore
    from stream_bayes.runtime import Worker

    with TemporaryDirectory(prefix="stream-bayes-warm-up-") as folder:
        sections: dict[str, Any] = {"labels": {"budget": 10}, "checkpoint": {"folder": folder}, "learner": learner}
        settings = Settings(**sections)
        store = MemoryStore(1)
        topics = (settings.topics.observations, settings.topics.labels)
        with MemoryLog(settings.group, topics, store=store) as log:
            for topic, value in _messages(learner, settings.topics.observations, settings.topics.labels):
                log.append(topic, value)
            log.commit({})
            Worker(settings, log).run(drain=True)
        with MemoryLog(settings.group, topics, store=store) as log:
            Worker(settings, log).rebuild()


def _messages(learner: LearnerSettings, observations: str, labels: str) -> Iterator[tuple[str, bytes]]:
    """Yield observations of words, which every learner accepts, and two different labels for each."""
    from stream_bayes.engine.model_adapter import ModelAdapter, open_learner

    first, second = _targets(ModelAdapter(open_learner(learner)))[:2]
    for number in range(8):
        observation = {"id": f"id-{number}", "text": f"word{number} cheap pills lunch"}
        yield observations, json.dumps(observation).encode()
    for label in (first, second):
        for number in range(8):
            yield labels, json.dumps({"id": f"id-{number}", "label": label}).encode()


def _targets(model: ModelAdapter) -> tuple[Any, ...]:
    """Return labels or numbers that the learner accepts; counts are numbers too."""
    if model.predicts_numbers:
        return (1.0, 3.0)
    return model.declared_labels or ("ham", "spam")


def _warm_evaluation() -> None:
    """Run every filter of this package over three mails, with all labels and with each query strategy."""
    from stream_bayes.evaluation.factory import open_filter
    from stream_bayes.evaluation.feedback import STRATEGIES, FeedbackRegime
    from stream_bayes.evaluation.protocol import warm_up as run_briefly

    run_briefly(partial(open_filter, "default"))
    run_briefly(partial(open_filter, "light"))
    for strategy in STRATEGIES:
        run_briefly(partial(open_filter, "light"), FeedbackRegime("active:2", strategy))


def _warm_web(learner: LearnerSettings) -> None:
    """Predict and explain an observation, and compute every posterior of the learner."""
    from stream_bayes.engine.model_adapter import ModelAdapter, open_learner
    from stream_bayes.errors import NoPosterior
    from stream_bayes.events import Observation
    from stream_bayes.web.services.posteriors import density_of
    from stream_bayes.web.services.prediction import prediction_view

    model = ModelAdapter(open_learner(learner))
    observation = Observation(id="id", text="cheap pills lunch")
    content = model.prepare(observation)
    for label in _targets(model):
        model.learner.learn_one(content, label)
    prediction_view(model, observation, 5, (0, 1))
    for kind in model.learner.posterior_kinds:
        for text in ("cheap", "ann@example.org", "word counts"):
            try:
                density_of(model, kind, text)
            except NoPosterior:
                continue
