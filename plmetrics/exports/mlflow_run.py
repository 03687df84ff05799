"""A run in MLflow: values as metrics, the verdict and gates as tags, the report as an artifact."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from plmetrics.core.errors import EnvironmentFault, Problem, needs_extra
from plmetrics.core.process import is_ours
from plmetrics.core.redaction import mask_address
from plmetrics.core.threads import batches
from plmetrics.exports.protocol import EndedRun, output_path
from plmetrics.exports.tidy import OVERALL, headline_values, worst_verdicts

if TYPE_CHECKING:
    from mlflow.entities import Metric, RunInfo
    from mlflow.tracking import MlflowClient

    from plmetrics.runs.outcome import Outcome
    from plmetrics.suite.sections.output import MlflowOutput
    from plmetrics.suite.yaml.load import LoadedSuite

_REPORT = "report.html"
_OLD = timedelta(days=1)
_INVALID = re.compile(r"[^\w./ -]")
_LONGEST_NAME, _LONGEST_VALUE = 240, 5000
_MOST_METRICS, _MOST_TAGS = 1000, 100
_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}
"""Settings of MLflow in our process, unless the environment has others.

By itself it tries for four minutes, and waits for two at each of them where a server does not answer.
"""
_NUMBERS = {"value": "", "lower": ".lower", "upper": ".upper", "n": ".n"}


@dataclass(frozen=True, slots=True)
class MlflowTarget:
    """Experiment of a tracking server or store; `uri` is None for that of MLflow's own settings."""

    experiment: str
    uri: str | None
    run_name: str | None

    @property
    def description(self) -> str:
        """The experiment and the server, without a password."""
        server = "" if self.uri is None else f" at {mask_address(self.uri)}"
        return f"the MLflow experiment '{self.experiment}'{server}"

    def write(self, run: EndedRun) -> None:
        """Log a run unless it is logged; earlier ones of the same interval are marked as superseded.

        Those that killed processes left running are failed: of the same interval at once, others when they are old.

        Raises:
            EnvironmentFault: the server or store cannot be reached, or refuses.
        """
        assert run.result is not None
        with _mlflow() as client_type, _faults():
            client = client_type(tracking_uri=self.uri)
            experiment = _experiment(client, self.experiment)
            if _is_logged(client, experiment, run):
                return
            earlier = _earlier_runs(client, experiment, run)
            logged = client.create_run(
                experiment,
                start_time=_milliseconds(run.start.timestamp()),
                tags=_identity(run),
                run_name=self.run_name or run.run_id,
            ).info.run_id
            try:
                _log(client, logged, run, run.result)
            except BaseException:
                with suppress(Exception):  # The server may be away; the next run marks it then.
                    client.set_terminated(logged, "FAILED")
                raise
            for before in earlier:
                client.set_tag(before.run_id, "plmetrics.superseded_by", logged)
                if before.status == "RUNNING":
                    client.set_terminated(before.run_id, "FAILED")
            client.set_terminated(logged, end_time=_milliseconds(run.end.timestamp()))
            for left in _unfinished_runs(client, experiment, run):
                client.set_terminated(left, "FAILED")


def mlflow_target(loaded: LoadedSuite, section: MlflowOutput) -> MlflowTarget:
    """Target of `output.mlflow`. A path in place of an address is that of a local store."""
    with _mlflow():
        uri = section.uri
        if uri is not None and ":" not in uri and uri != "databricks":
            uri = str(output_path(loaded, uri, ("output", "mlflow", "uri")))
        return MlflowTarget(section.experiment, uri, section.run_name)


def metric_names(rows: Sequence[Mapping[str, str | None]]) -> list[str]:
    """A name for each row: model/metric, then class and slice where there are; valid, and each once with its endings.

    >>> place = {"model": "a", "metric": "fbeta(beta=2)", "class": None, "slice_set": "region", "slice": "region=x|y"}
    >>> metric_names([place, place | {"slice": "region=x&y"}])
    ['a/fbeta_beta_2_ region_x_y', 'a/fbeta_beta_2_ region_x_y 2']
    """
    names: list[str] = []
    taken: set[str] = set()
    for row in rows:
        place = row["slice"] if row["slice_set"] != OVERALL else None
        last = " ".join(_valid(part) for part in (row["metric"], row["class"], place) if part)
        first = f"{_valid(row['model'])}/" if row["model"] else ""
        name = unique = _cut(f"{first}{last}")
        number = 1
        while not taken.isdisjoint(full := {f"{unique}{ending}" for ending in _NUMBERS.values()}):
            number += 1
            unique = f"{name} {number}"
        taken |= full
        names.append(unique)
    return names


def _valid(text: str) -> str:
    """Text without the characters invalid or dividing in names of metrics and tags."""
    return _INVALID.sub("_", text).replace("/", "_")


def _cut(name: str) -> str:
    """Beginning of a name: stores in files have a limit of bytes."""
    return name.encode()[:_LONGEST_NAME].decode(errors="ignore")


def _log(client: MlflowClient, logged: str, run: EndedRun, result: Outcome) -> None:
    from mlflow.entities import Param, RunTag

    from plmetrics.table.storage.copies import local_copies

    facts = {"suite": run.name, "fingerprint": str(run.record.get("fingerprint"))}
    client.log_batch(logged, params=[Param(key, value) for key, value in facts.items()])
    for metrics in batches(_metrics(run, result), _MOST_METRICS):
        client.log_batch(logged, metrics=metrics)
    tags = [RunTag(key, value[:_LONGEST_VALUE]) for key, value in _tags(run, result).items()]
    for part in batches(tags, _MOST_TAGS):
        client.log_batch(logged, tags=part)
    if (run.folder / _REPORT).is_file():
        with local_copies([run.folder / _REPORT], _REPORT) as (copies, _):
            client.log_artifact(logged, str(copies[0]))


def _metrics(run: EndedRun, result: Outcome) -> list[Metric]:
    from mlflow.entities import Metric

    rows = headline_values(result).rows(named=True)
    moment = _milliseconds(run.end.timestamp())
    return [
        Metric(f"{name}{ending}", float(row[column]), moment, 0)
        for name, row in zip(metric_names(rows), rows, strict=True)
        for column, ending in _NUMBERS.items()
        if row[column] is not None
    ]


def _identity(run: EndedRun) -> dict[str, str]:
    """Identifying tags of a run from its start, also where logging it is cut short."""
    return {"plmetrics.suite": run.name, "plmetrics.run_id": run.run_id, "plmetrics.key": run.key}


def _tags(run: EndedRun, result: Outcome) -> dict[str, str]:
    gates = worst_verdicts((_gate_tag(row), row["verdict"]) for row in result.gates.rows(named=True))
    return {"plmetrics.verdict": run.verdict} | gates


def _gate_tag(row: Mapping[str, str | None]) -> str:
    """Name of the tag of a gate, with its model and slice."""
    place = (row["model"], row["slice"] if row["slice_set"] != OVERALL else None)
    words = str(row["gate"]).replace(">=", "at least").replace("<=", "at most")  # tags have no such signs
    text = " ".join(filter(None, (words, *place)))
    return _cut(f"plmetrics.gate/{_valid(text)}")


def _experiment(client: MlflowClient, name: str) -> str:
    from mlflow.exceptions import MlflowException

    present = client.get_experiment_by_name(name)
    if present is not None:
        return str(present.experiment_id)
    try:
        return str(client.create_experiment(name))
    except MlflowException:
        present = client.get_experiment_by_name(name)  # Another run may have made it meanwhile.
        if present is None:
            raise
        return str(present.experiment_id)


def _is_logged(client: MlflowClient, experiment: str, run: EndedRun) -> bool:
    condition = f"{_condition(run, 'run_id')} and attributes.status = 'FINISHED'"
    return bool(client.search_runs([experiment], condition))


def _earlier_runs(client: MlflowClient, experiment: str, run: EndedRun) -> list[RunInfo]:
    """Runs of the same interval, or the same run without one, in force or cut short."""
    return [earlier.info for earlier in client.search_runs([experiment], _condition(run, "key"))]


def _unfinished_runs(client: MlflowClient, experiment: str, run: EndedRun) -> list[str]:
    before = _milliseconds((run.start - _OLD).timestamp())
    condition = f"attributes.status = 'RUNNING' and attributes.start_time < {before}"
    runs = client.search_runs([experiment], f"{_condition(run, 'suite')} and {condition}")
    return [left.info.run_id for left in runs]


def _condition(run: EndedRun, tag: str) -> str:
    """Filter of a suite's runs by a common tag; names of suites have no double quotes."""
    tags = {name: _identity(run)[name] for name in dict.fromkeys(("plmetrics.suite", f"plmetrics.{tag}"))}
    return " and ".join(f'tags.`{name}` = "{text}"' for name, text in tags.items())


@contextmanager
def _mlflow() -> Iterator[type[MlflowClient]]:
    """MLflow's client, without its warnings and notes; in our own process it also prints and reports nothing."""
    if is_ours():
        os.environ.update({name: text for name, text in _SETTINGS.items() if name not in os.environ})
    logger = logging.getLogger("mlflow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with needs_extra("mlflow", "logging to MLflow"):
            from mlflow.tracking import MlflowClient
        level = logger.level
        logger.setLevel(logging.ERROR)
        try:
            yield MlflowClient
        finally:
            logger.setLevel(level)


@contextmanager
def _faults() -> Iterator[None]:
    from mlflow.exceptions import MlflowException

    try:
        yield
    except (MlflowException, OSError, ImportError) as error:
        words = mask_address(" ".join(str(error).split()))
        raise EnvironmentFault(Problem(words)) from error


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
