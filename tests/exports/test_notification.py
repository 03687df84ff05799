"""Messages of runs against a server of this process: what is sent, when, and that nothing of it costs the run."""

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import plmetrics as plm
from plmetrics.cli.app import app
from plmetrics.exports import notification
from plmetrics.exports.notification import Message
from plmetrics.runs.failure import failure_of
from plmetrics.runs.history.previous_runs import PreviousStatus

CANARY = "canary-4711-geheim"
SUITE = """\
name: nightly
data: {path: day.parquet}
columns: {label: y}
models: {m: p}
metrics: [roc_auc]
gates: [{metric: roc_auc, at_least: 0.5}]
notify:
"""
FAILING = {"gates": [{"metric": "roc_auc", "at_least": 0.99}]}


class Server(ThreadingHTTPServer):
    """Notes what is sent; answers with `status`, or not before `release`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, Any]] = []
        self.status = 200
        self.hangs = False
        self.release = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, json.loads(body)))
        if self.server.hangs:
            self.server.release.wait(30)
        self.send_response(self.server.status)
        if self.server.status == 307:
            self.send_header("Location", f"{self.server.url}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[Server]:
    instance = Server()
    thread = Thread(target=instance.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield instance
    instance.release.set()
    instance.shutdown()
    instance.server_close()


@pytest.fixture
def folder(root: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    monkeypatch.setenv("HOOK", f"{server.url}/{CANARY}")
    pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.7]}).write_parquet("day.parquet")
    return root


def write(messages: str) -> None:
    Path("suite.yaml").write_text(f"{SUITE}{messages}", encoding="utf-8")


def run(**changes: Any) -> plm.Result:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plm.PlmetricsWarning)
        return plm.run("suite.yaml", set=changes)


def without_secrets(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix != ".parquet" and file.name != "suite.yaml":
            assert CANARY.encode() not in file.read_bytes(), file


@pytest.mark.slow
def test_one_message_per_change_of_status(folder: Path, server: Server) -> None:
    write('  {webhook: "${HOOK}", on: change}\n')
    passes: dict[str, Any] = {}
    absent = {"data.path": "absent.parquet"}
    nights = [passes, passes, FAILING, FAILING, absent, absent, passes, passes]
    counts = []
    for changes in nights:
        if changes is absent:
            with pytest.raises(plm.AbsentDataError):
                run(**changes)
        else:
            run(**changes)
        counts.append(len(server.requests))
    assert counts == [0, 0, 1, 1, 2, 2, 3, 3]
    texts = [body["text"] for _, body in server.requests]
    assert [text.split(" (")[0].split(",")[0] for text in texts] == [
        "nightly: fail",
        "nightly: error",
        "nightly: pass",
    ]
    assert "roc_auc &gt;= 0.99" in texts[0]
    assert "absent.parquet: no such file or folder" in texts[1]
    assert {path for path, _ in server.requests} == {f"/{CANARY}"}
    without_secrets(folder)


@pytest.mark.slow
def test_a_change_is_told_across_a_skipped_run(folder: Path) -> None:
    """Pass, error (told), skipped, then: an error still is none, and a pass is the end of it."""
    write('  {command: [sh, -c, "cat >> sent; echo >> sent"], on: change}\n')
    absent = ["--set", "data.path=absent.parquet"]
    nights = [[], absent, [*absent, "--skip-if-empty"], absent, [*absent, "--skip-if-empty"], [], []]
    codes = [
        CliRunner().invoke(app, ["run", "suite.yaml", "--quiet", *arguments]).exit_code
        for arguments in nights
    ]
    assert codes == [0, 5, 99, 5, 99, 0, 0]
    verdicts = [json.loads(line)["verdict"] for line in (folder / "sent").read_text().split("\n") if line]
    assert verdicts == ["error", "pass"]


@pytest.mark.parametrize(("on", "counts"), [("fail", [0, 1, 2]), ("always", [1, 2, 3])])
def test_when_a_message_is_due(folder: Path, server: Server, on: str, counts: list[int]) -> None:
    write(f'  [{{webhook: "${{HOOK}}", on: {on}}}]\n')
    sent = []
    for changes in ({}, FAILING, FAILING):
        run(**changes)
        sent.append(len(server.requests))
    assert sent == counts


def test_a_message_about_a_run_that_fails_by_request_says_why(folder: Path, server: Server) -> None:
    """The gates pass, or only warn: `pass` alone in an alarm would tell nobody what to do."""
    write('  [{webhook: "${HOOK}", on: fail}]\n')
    gates = "gates=[{metric: roc_auc, at_least: 0.99, level: warn}]"
    done = CliRunner().invoke(app, ["run", "suite.yaml", "--quiet", "--fail-on", "warn", "--set", gates])
    assert done.exit_code == 3
    (text,) = (content["text"] for _, content in server.requests)
    why = "exit code 3: failed checks of level warn: 1 (--fail-on warn); roc_auc &gt;= 0.99"
    assert text.startswith(f"nightly: pass ({why}), see ")


def test_a_template(folder: Path, server: Server) -> None:
    template = "<!here> {suite}|{verdict}|{interval}|{gates}|{{x}}|{folder}"
    write(f'  - {{webhook: "${{HOOK}}", on: always, template: "{template}"}}\n')
    result = run(**FAILING)
    assert server.requests[0][1] == {
        "text": f"<!here> nightly|fail||roc_auc &gt;= 0.99|{{x}}|{result.folder}"
    }


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ('{webhook: "${HOOK}", template: "{suite.__class__}"}', "{suite.__class__}"),
        ('{webhook: "${HOOK}", template: "{verdcit}"}', "did you mean 'verdict'?"),
        ('{webhook: "${HOOK}", template: "{text!r}"}', "no plain name"),
        ('{webhook: "${HOOK}", template: "{"}', "cannot be read"),
        ('{webhook: "file:///etc/passwd"}', "http:// or https://"),
        (f'{{webhook: "https://me:{CANARY}@example.com/"}}', "holds a user or a password"),
        ("{on: always}", "either a webhook or a command"),
        ('{webhook: "${HOOK}", command: [x]}', "either a webhook or a command"),
        ('{webhook: "${HOOK}", on: sometimes}', "sometimes"),
        ("slack", "a mapping or a list"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, message: str, words: str) -> None:
    write(f"  {message}\n")
    with pytest.raises(plm.ConfigError) as caught:
        run()
    assert words in str(caught.value)
    assert CANARY not in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("500", "the server answered 500"),
        ("307", "the server answered 307"),
        ("hanging", "no answer within 0.5 seconds"),
        ("refused", "Connection refused"),
        ("bad address", "is not delivered"),
    ],
)
def test_a_message_that_is_not_delivered_costs_nothing(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, state: str, words: str
) -> None:
    monkeypatch.setattr(notification, "SECONDS", 0.5)
    if state.isdigit():
        server.status = int(state)
    server.hangs = state == "hanging"
    if state == "refused":
        monkeypatch.setenv("HOOK", f"http://127.0.0.1:1/{CANARY}")
    if state == "bad address":
        monkeypatch.setenv("HOOK", f"http://127.0.0.1:port/{CANARY}")
    write('  {webhook: "${HOOK}", on: always}\n')
    started = time.monotonic()
    result = run()
    assert time.monotonic() - started < 10
    assert (result.verdict, result.record["exit_code"]) == ("pass", 0)
    assert result.folder is not None
    (warning,) = result.warnings
    assert warning.startswith("notification 1 (webhook) is not delivered: ")
    assert words in warning
    assert json.loads((result.folder / "run.json").read_text())["warnings"] == [warning]
    assert all(path == f"/{CANARY}" for path, _ in server.requests)
    assert plm.load(result.folder).verdict == "pass"
    without_secrets(folder)


def test_a_change_that_was_not_delivered_is_told_by_the_next_run(folder: Path, server: Server) -> None:
    """To each recipient apart, until it arrives; also of runs with an error."""
    write('  [{webhook: "${HOOK}"}, {command: [sh, -c, "echo >> sent"]}]\n')
    sent = []
    absent = {"data.path": "absent.parquet"}
    for changes, status in [
        *(({}, 200), (FAILING, 500), (FAILING, 500), (FAILING, 200), (FAILING, 200)),
        *((absent, 500), (absent, 200), (absent, 200)),
    ]:
        server.status = status
        if changes is absent:
            with pytest.raises(plm.AbsentDataError):
                run(**changes)
        else:
            run(**changes)
        lines = (folder / "sent").read_text() if (folder / "sent").is_file() else ""
        sent.append((len(server.requests), len(lines)))
    assert sent == [(0, 0), (1, 1), (2, 1), (3, 1), (3, 1), (4, 2), (5, 2), (5, 2)]


def test_an_undelivered_message_is_told_beside_an_undelivered_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", f"http://127.0.0.1:1/{CANARY}")
    write('  {webhook: "${HOOK}", on: always}\noutput: {database: sqlite:///there.db}\n')
    (folder / "there.db").mkdir()
    with pytest.raises(plm.EnvironmentFault, match="not in the database") as raised:
        run()
    (warning,) = failure_of(raised.value).warnings
    assert warning == "notification 1 (webhook) is not delivered: Connection refused"


def test_a_command_has_the_message_on_its_input(folder: Path) -> None:
    write('  {command: [sh, -c, "cat > told.json"], on: fail}\n')
    result = run(**FAILING)
    content = json.loads(Path("told.json").read_text())
    assert (content["verdict"], content["exit_code"], content["gates"]) == ("fail", 3, ["roc_auc >= 0.99"])
    assert content["folder"] == str(result.folder)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("[sh, -c, exit 7]", "exit code 7"),
        ("[no-such-program-4711]", "No such file"),
        ("[sleep, '5']", "within 0.5 seconds"),
    ],
)
def test_a_command_that_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: str
) -> None:
    monkeypatch.setattr(notification, "SECONDS", 0.5)
    write(f"  {{command: {command}, on: always}}\n")
    result = run()
    assert words in result.warnings[0]
    assert result.verdict == "pass"


def test_messages_leave_fingerprint_and_states_alone(folder: Path) -> None:
    write('  {webhook: "${HOOK}", on: fail}\n')
    prints = []
    for text in (None, SUITE.replace("notify:\n", "")):
        if text is not None:
            Path("suite.yaml").write_text(text, encoding="utf-8")
        state = plm.state("suite.yaml", "day.state")
        prints.append((run().record["fingerprint"], state.head.fingerprint))
        assert plm.merge(state).suite.notify == ()
    assert prints[0] == prints[1]
    assert CANARY.encode() not in Path("day.state").read_bytes()


def test_addresses_in_the_suite_itself_are_not_recorded(folder: Path, server: Server) -> None:
    write(f'  {{webhook: "{server.url}/{CANARY}", on: always}}\n')
    run()
    assert len(server.requests) == 1
    without_secrets(folder)


@pytest.mark.parametrize("previous", [None, "pass", "none", "inconclusive", "fail", "error"])
@pytest.mark.parametrize("status", ["pass", "none", "inconclusive", "fail", "error", "skipped"])
def test_changes(previous: str | None, status: str) -> None:
    """From nothing, or from good, to good is no change; nor is what was skipped."""
    good = {None, "pass", "none"}
    expected = status != "skipped" and status != previous and not {previous, status} <= good
    sent: list[str] = []

    class Spec:
        on, webhook, command, template = "change", None, ("true",), None

    original = notification._sender
    try:
        notification._sender = lambda *_: lambda: sent.append("x")  # type: ignore[assignment,return-value]
        notification.notify([Spec], Message("s", status, 0, ""), PreviousStatus(previous), Path())  # type: ignore[list-item]
    finally:
        notification._sender = original
    assert bool(sent) == expected
