"""What IPython shows of errors: the lines to act on, and of bugs everything."""

import re
import warnings
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield InteractiveShell.instance(history_manager=None)
        InteractiveShell.clear_instance()


def shown(shell: InteractiveShell, capsys: pytest.CaptureFixture[str], code: str) -> str:
    capsys.readouterr()
    assert not shell.run_cell(code).success
    out, err = capsys.readouterr()
    return re.sub(r"\x1b\[[\d;]*m", "", out + err).strip()


def test_a_mistake_shows_what_to_fix(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(shell, capsys, "import plmetrics as plm\nplm.metric('recal')")
    assert text.splitlines() == [
        "ConfigError: unknown metric 'recal' for task 'binary'",
        "    did you mean 'recall'?",
    ]


def test_all_problems_are_shown(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import plmetrics as plm\nplm.evaluate({'y': [1, 0]}, label='y', models='p', metrics=['recal', 'precison'])"
    text = shown(shell, capsys, code)
    assert text.startswith("ConfigError: metrics.0: unknown metric 'recal'")
    assert "metrics.1: unknown metric 'precison'" in text
    assert "Traceback" not in text
    assert ".py" not in text


def test_errors_of_kinds_of_their_own_have_public_names(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(shell, capsys, "import plmetrics as plm\nplm.load('nowhere')")
    assert text.splitlines()[0] == "AbsentDataError: nowhere: no such folder"
    assert len(text.splitlines()) == 2


def test_a_bug_shows_where_it_is(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(shell, capsys, "import plmetrics as plm\nraise plm.PlmetricsError('a bug')")
    assert "Traceback" in text
    assert text.endswith("PlmetricsError: a bug")
