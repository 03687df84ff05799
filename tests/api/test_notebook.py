"""A real notebook: what its cells show, without a network."""

import base64
import re

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytestmark = pytest.mark.slow

CELLS = (
    "import numpy as np, plmetrics as plm\n"
    "draw = np.random.default_rng(1)\n"
    "y = draw.integers(0, 2, 400)\n"
    "table = {'y': y, 'A': np.clip(0.4 * y + 0.6 * draw.random(400), 0, 1), 'B': draw.random(400)}",
    "result = plm.evaluate(table, label='y', models=['A', 'B'], metrics=['roc_auc'], curves=['roc'], compare='A')\n"
    "result",
    "print(result)",
    "result.plot.roc()",
    "plm.evaluate(table, label='y', models=['A'], metrics=['roc_acu'])",
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict]]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = tmp_path_factory.mktemp("notebook")
    client = nbclient.NotebookClient(
        notebook,
        timeout=240,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": folder}},
    )
    client.execute()
    return [cell["outputs"] for cell in notebook["cells"]]


def test_a_result_shows_its_values(outputs) -> None:
    (output,) = outputs[1]
    assert "roc_auc" in output["data"]["text/plain"]
    html = output["data"]["text/html"]
    assert "roc_auc" in html
    assert "<script" not in html
    assert len(html) < 10_000
    assert outputs[2][0]["text"].startswith("DONE")


def test_a_chart_is_an_image_with_words_in_their_place(outputs) -> None:
    (output,) = outputs[3]
    html = output["data"]["text/html"]
    svg = base64.b64decode(re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html)[1]).decode()
    assert svg.startswith("<svg")
    assert "ROC curve" in re.search(r'alt="([^"]+)"', html)[1]
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]+"', "", svg)


def test_an_error_is_its_own_lines(outputs) -> None:
    (output,) = outputs[4]
    assert output["output_type"] == "error"
    assert "did you mean 'roc_auc'?" in "\n".join(output["traceback"])
    assert sum(text.count("\n") + 1 for text in output["traceback"]) <= 6
