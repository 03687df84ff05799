"""Shipped suites run where nothing is installed but what plmetrics depends on, without its extras."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

CONFIGS = Path(__file__).parents[2] / "configs"
OF_AN_EXTRA = {"bucket"}
FEWER = {"uncertainty.replicates": 20}
PROGRAM = """
import sys

import_names = {names!r}


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in import_names:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)


sys.meta_path.insert(0, Absent())
import plmetrics as plm

for suite, fewer in {suites!r}.items():
    print(suite, plm.run(suite, output={directory!r}, set=fewer).metrics.height > 0)
"""


def dependencies(distribution: str) -> set[str]:
    """A distribution and what it requires without extras, by normalised name."""
    name = re.sub(r"[-_.]+", "-", distribution).lower()
    todo, found = [name], set[str]()
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        for text in requires(name) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(re.sub(r"[-_.]+", "-", requirement.name).lower())
    return found


@pytest.mark.slow
def test_suites_run_without_extras(tmp_path: Path) -> None:
    required = dependencies("plmetrics")
    absent = {
        name
        for name, distributions in packages_distributions().items()
        if not required & {re.sub(r"[-_.]+", "-", distribution).lower() for distribution in distributions}
    }
    assert {"pyarrow", "pandas", "cloudpickle"} <= absent
    files = [file for file in sorted(CONFIGS.glob("*.yaml")) if file.stem not in OF_AN_EXTRA]
    suites = {str(file): FEWER if "replicates:" in file.read_text() else {} for file in files}
    program = PROGRAM.format(names=absent, suites=suites, directory=str(tmp_path))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [f"{suite} True" for suite in suites]
