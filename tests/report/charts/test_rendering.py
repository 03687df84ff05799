"""The renderer's process: ends with the charts it cannot draw, and starts again for the next."""

import contextlib
import os
import subprocess
import sys
import textwrap

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.report.charts import rendering
from plmetrics.report.charts.rendering import Renderer, RenderingFault

pytest.importorskip("vl_convert", reason="charts need the extra report")

CHART = {
    "data": {"values": [{"x": 1}]},
    "mark": "point",
    "encoding": {"x": {"field": "x", "type": "quantitative"}},
}


class Interrupted:
    """The output of a process, whose reader is interrupted before there is any."""

    def __init__(self, output):
        self.close = output.close

    def readline(self):
        raise KeyboardInterrupt


@pytest.fixture
def renderer():
    renderer = Renderer()
    yield renderer
    renderer.close()


@pytest.mark.slow
def test_draws_again_after_its_process_was_killed(renderer):
    assert renderer.render(CHART, "svg").startswith(b"<svg")
    renderer._process.kill()
    renderer._process.wait()
    assert renderer.render(CHART, "svg").startswith(b"<svg")


@pytest.mark.slow
def test_a_chart_that_is_refused_leaves_the_next_one_alone(renderer):
    with pytest.raises(RenderingFault):
        renderer.render({"mark": "no such mark"}, "svg")
    bad = {**CHART, "mark": {"type": "text"}, "encoding": {"text": {"value": "a\x07"}}}
    with contextlib.suppress(RenderingFault):
        renderer.render(bad, "svg")
    for _ in range(2):
        assert renderer.render(CHART, "png").startswith(b"\x89PNG")


@pytest.mark.slow
def test_an_answer_that_nobody_waited_for_is_not_that_of_the_next_chart(renderer, monkeypatch):
    renderer.start()
    monkeypatch.setattr(renderer._process, "stdout", Interrupted(renderer._process.stdout))
    with pytest.raises(KeyboardInterrupt):
        renderer.render(CHART, "svg")
    assert renderer.render(CHART, "png").startswith(b"\x89PNG")


def test_a_process_that_does_not_start_costs_the_charts_alone(monkeypatch, tmp_path):
    pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.7, 0.8, 0.9]}).write_csv(tmp_path / "rows.csv")
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "name: s\ntask: binary\ndata: {path: rows.csv}\ncolumns: {label: y}\nmodels: {m: p}\nmetrics: [roc_auc]\n"
        "curves: [roc]\noutput: {report: true}\n"
    )
    monkeypatch.setattr(rendering.RENDERER, "_process", None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
    result = plm.run(suite)
    assert result.metrics["value"].to_list() == [0.75]
    assert (
        "The chart roc is missing: its process does not start" in (result.folder / "report.html").read_text()
    )


def test_files_and_addresses_are_not_read(renderer, tmp_path):
    (tmp_path / "rows.json").write_text('[{"x": 123456}]')
    for url in (str(tmp_path / "rows.json"), (tmp_path / "rows.json").as_uri()):
        try:
            image = renderer.render({**CHART, "data": {"url": url}}, "svg")
        except RenderingFault:
            continue
        assert b"123" not in image


def run(script):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_draws_charts_of_its_own():
    done = run(
        f"""
        import os, warnings
        warnings.simplefilter("ignore")
        from plmetrics.report.charts.rendering import RENDERER
        first = RENDERER.render({CHART!r}, "svg")
        child = os.fork()
        if child == 0:
            same = RENDERER.render({CHART!r}, "svg") == first
            RENDERER.close()
            os._exit(0 if same else 3)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert RENDERER.render({CHART!r}, "svg") == first
        raise SystemExit(code)
        """
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_hostile_names_do_not_end_the_process():
    done = run(
        """
        import polars as pl, plmetrics as plm
        names = ["</svg><script>", "]]>", "a.b[0]", "it's", 'q"t', "x" * 300, "\\x07\\x00\\x1b",
                 "\\ufffe", "\\u202eevil", "\\u0085", "\\u05e9\\u05dc\\u05d5\\u05dd",
                 "\\U0001f600", "", " ", "\\n\\t", "<b>&amp;", "\\x0b", "nan"]
        rows = [(y, p, name) for name in names for y, p in ((1, 0.9), (0, 0.2), (1, 0.4), (0, 0.6))]
        frame = pl.DataFrame(rows, schema=["y", "p", "name"], orient="row")
        curves = [{"curve": curve, "slices": ["name"]} for curve in ("roc", "pr", "reliability")]
        result = plm.evaluate(frame, label="y", models="p", metrics=["roc_auc", "recall", "tp", "fp", "fn", "tn"],
                              slices={"name": "name"}, curves=curves)
        texts = result.metrics["slice"].unique().to_list()
        for chart in ("roc", "reliability", "confusion"):
            for part in (texts[:9], texts[9:]):
                part = [text for text in part if text != "all"]
                svg = getattr(result.plot, chart)(slice_set="name", slices=part).svg()
                assert "<script" not in svg and svg.startswith("<svg"), chart
        print("drawn")
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().endswith("drawn")
