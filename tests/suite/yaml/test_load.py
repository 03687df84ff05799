import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.suite.yaml.load import LoadedSuite, load_suite


def only(problems: tuple[Problem, ...]) -> Problem:
    assert len(problems) == 1, problems
    return problems[0]


def place(problem: Problem) -> tuple[int, int]:
    assert problem.where is not None
    assert Path(problem.where.file).name == "suite.yaml"
    return problem.where.line, problem.where.column


def test_a_whole_suite(load: Any) -> None:
    loaded: LoadedSuite = load(
        """
name: credit-risk
task: binary
data: {path: scores/*.parquet, where: "channel <> 'test'"}
columns: {label: defaulted, weight: exposure, unit: customer_id}
models: {champion: score_v1, challenger: {score: score_v2}}
metrics:
  - roc_auc
  - precision(threshold=0.3)
  - {fbeta: {beta: 2}}
slices:
  region: region
  region_device: [region, device]
  age: {column: age, bins: [25, 40, 65]}
  vip: {where: "balance > 100000"}
uncertainty: {replicates: 200, seed: 7}
compare: {baseline: champion, correction: holm}
gates:
  - {metric: roc_auc, model: challenger, at_least: 0.75}
  - {metric: roc_auc, model: challenger, against: champion, no_worse_than: 0.005, using: interval}
output: {directory: results}
""",
        head="",
    )
    suite = loaded.suite
    assert suite.name == "credit-risk"
    assert [metric.text for metric in suite.metrics] == [
        "roc_auc",
        "precision(threshold=0.3)",
        "fbeta(beta=2)",
    ]
    assert suite.models["champion"].score == "score_v1"
    assert suite.slices["region_device"].columns == ("region", "device")
    assert suite.slices["age"].bins == (25, 40, 65)
    assert suite.uncertainty is not None
    assert (suite.uncertainty.replicates, suite.uncertainty.level, suite.uncertainty.seed) == (200, 0.95, 7)
    assert suite.gates[1].no_worse_than == 0.005
    assert suite.data.path == "scores/*.parquet"
    assert suite.output.directory == "results"
    assert loaded.folder.is_dir()


def test_the_name_is_the_file_s_unless_given(load: Any) -> None:
    assert load("").suite.name == "suite"
    assert load("name: other\n").suite.name == "other"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("+12", 12), ("010", 10), ("0o14", 12), ("0x1F", 31), ("-3", -3),
        ("1.5", 1.5), ("1e-3", 0.001), (".5", 0.5), ("1.", 1.0), ("true", True), ("FALSE", False),
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("off", "off"), ("y", "y"), ("1:30", "1:30"),
        ("2024-01-31", "2024-01-31"), ("1_000", "1_000"), ("0b1", "0b1"), ("1e", "1e"), ("tRUE", "tRUE"),
        ("'12'", "12"), ('"true"', "true"), ("'null'", "null"), ("~", None), ("null", None), ("", None),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(load: Any, text: str, value: Any) -> None:
    positive = load(f"positive: {text}\n").suite.positive
    assert positive == value
    assert type(positive) is type(value)


@pytest.mark.parametrize(
    ("text", "words", "where"),
    [
        ("task: binary\ntask: regression\n", "'task'", (5, 1)),
        ("uncertainty: {seed: 1, seed: 2}\n", "'seed'", (4, 24)),
        ("name: !!python/object/apply:os.system ['x']\n", "tags", (4, 7)),
        ("name: !!str x\n", "tags", (4, 7)),
        ("name: ! x\n", "tags", (4, 7)),
        ("name: !local x\n", "tags", (4, 7)),
        ("metrics: *x\n", "alias", (4, 10)),
        ("<<: {name: z}\n", "merge keys (<<)", (4, 1)),
        ("[a]: x\n", "key", (4, 1)),
        ("---\nname: x\n", "second", (4, 1)),
        ("metrics: [f1\n", "expected ',' or ']'", (5, 1)),
        ("name: a: b\n", "mapping values are not allowed", (4, 8)),
        ("gates:\n\t- x\n", "'\\t'", (5, 1)),
        ('name: "abc\n', "quoted scalar", (5, 1)),
    ],
)
def test_what_is_no_plain_yaml_has_its_place(
    refuse: Any, text: str, words: str, where: tuple[int, int]
) -> None:
    problem = only(refuse(text))
    assert words in problem.message
    assert place(problem) == where


def test_syntax_errors_say_what_to_do(refuse: Any) -> None:
    assert "quotes" in (only(refuse("data2: {where: a: b}\n")).hint or "")


@pytest.mark.parametrize(
    ("text", "where"),
    [("", (1, 1)), ("# nothing\n", (1, 1)), ("- a\n", (1, 1)), ("\n\n  word\n", (3, 3)), ("[]\n", (1, 1))],
)
def test_a_suite_is_a_mapping(refuse: Any, text: str, where: tuple[int, int]) -> None:
    problem = only(refuse(text, head=""))
    assert "mapping" in problem.message
    assert place(problem) == where


@pytest.mark.parametrize("content", [b"name: caf\xe9\n", "name: x\n".encode("utf-16"), b"\xff\xfe\x00"])
def test_text_that_is_no_utf_8_is_refused(refuse: Any, content: bytes) -> None:
    problem = only(refuse(b"# a comment\n" + content))
    assert "UTF-8" in problem.message
    assert place(problem)[0] == 2


def test_a_byte_order_mark_is_no_content(load: Any, refuse: Any) -> None:
    assert load(b"\xef\xbb\xbfname: x\ndata: {path: p}\ncolumns: {label: y}\nmodels: p\n").suite.name == "x"
    assert place(refuse(b"\xef\xbb\xbfnaem: x\ndata: {path: p}\ncolumns: {label: y}\nmodels: p\n")[0]) == (
        1,
        1,
    )


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b", "\x7f"])
def test_control_characters_are_refused(refuse: Any, character: str) -> None:
    assert "character" in only(refuse(f"name: a{character}b\n")).message


def bomb(levels: int) -> str:
    lines = ["k0: &k0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"k{level}: &k{level} [{', '.join([f'*k{level - 1}'] * 9)}]")
    return "\n".join(lines)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (bomb(9), "50,000"),
        ("k0: &k0 [x]\n" + "\n".join(f"k{i}: &k{i} [*k{i - 1}]" for i in range(1, 1500)), "50 levels"),
        ("[" * 10_000, "50 levels"),
        ("{a: " * 10_000, "50 levels"),
        ("- " * 10_000, "50 levels"),
        ("? " * 10_000, "50 levels"),
        ("\n".join(" " * depth + "a:" for depth in range(1000)), "50 levels"),
        ("#" + "x" * 1_000_000, "1,000,000 bytes"),
    ],
    ids=["laughs", "chain", "lists", "mappings", "dashes", "questions", "blocks", "size"],
)
def test_attacks_end_in_one_problem(refuse: Any, text: str, words: str) -> None:
    assert words in only(refuse(text, head="")).message


def test_anchors_are_fine_in_moderation(load: Any) -> None:
    suite = load("metrics: &all [f1, recall]\nslices: {r: &r [region], s: *r}\n").suite
    assert suite.slices["s"].columns == ("region",)


@pytest.mark.parametrize("text", ["metrics: &a [*a]\n", "gates: &a {b: *a}\n"])
def test_an_anchor_that_contains_itself_is_refused(refuse: Any, text: str) -> None:
    assert only(refuse(text)).where is not None


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "credit.yaml").write_text("name: x")
    with pytest.raises(ConfigError, match="no such file") as caught:
        load_suite(tmp_path / "credti.yaml")
    assert "credit.yaml" in (caught.value.problems[0].hint or "")
    with pytest.raises(ConfigError, match="folder"):
        load_suite(tmp_path)


def test_variables_are_replaced_in_texts(load: Any, refuse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLM_DAY", "2024-01-31")
    monkeypatch.delenv("PLM_NIGHT", raising=False)
    head = "columns: {label: y}\nmodels: p\n"
    suite = load(
        "data: {path: '/data/${PLM_DAY}/*.parquet', where: \"day = '${PLM_DAY}'\"}\n"
        "output: {directory: 'r/${PLM_DAY}'}\n",
        head=head,
    ).suite
    assert suite.data.path == "/data/2024-01-31/*.parquet"
    assert suite.output.directory == "r/2024-01-31"
    assert suite.data.where == "day = '2024-01-31'"
    problem = only(refuse("data: {path: ['a', '${PLM_NIGHT}/b']}\n", head=head))
    assert "PLM_NIGHT is not set" in problem.message
    assert place(problem)[0] == 3


@pytest.mark.parametrize(
    "text",
    [
        "slices: {x: {where: \"region = '${PLM_DAY}'\"}}\n",
        "metrics: [{name: z, mean: p, where: \"region = '${PLM_DAY}'\"}]\n",
        "calibrate: {method: platt, fit_on: \"region = '${PLM_DAY}'\"}\n",
    ],
)
def test_variables_are_refused_where_none_is_replaced(
    refuse: Any, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """As texts they would hold for no row."""
    monkeypatch.setenv("PLM_DAY", "2024-01-31")
    problem = only(refuse(text))
    assert f"variables are not replaced in {text.partition(':')[0]}" in problem.message


@pytest.mark.parametrize(
    ("overrides", "reader", "value"),
    [
        ({"uncertainty.replicates": 200}, lambda suite: suite.uncertainty.replicates, 200),
        ({"uncertainty.replicates": "200"}, lambda suite: suite.uncertainty.replicates, 200),
        ({"name": "other"}, lambda suite: suite.name, "other"),
        ({"compare": "a"}, lambda suite: suite.compare.baseline, "a"),
        ({"data.path": "*.parquet"}, lambda suite: suite.data.path, "*.parquet"),
        ({"data.where": "p > 0.5"}, lambda suite: suite.data.where, "p > 0.5"),
        ({"min_rows": None}, lambda suite: suite.min_rows, 0),
        (
            {"metrics": '[f1, "fbeta(beta=2, threshold=0.3)"]'},
            lambda suite: [metric.text for metric in suite.metrics],
            ["f1", "fbeta(beta=2, threshold=0.3)"],
        ),
        (
            {"task": "multiclass", "metrics": "[accuracy]", "models": '{m: "p"}', "models.m.weight": "w"},
            lambda suite: (suite.models["m"].prediction, suite.models["m"].weight),
            ("p", "w"),
        ),
        ({"engine": "inline", "engine.coverage": 0.5}, lambda suite: suite.sections["engine"].on, "inline"),
        ({"labels": True, "labels.coverage": 0.5}, lambda suite: suite.labels.coverage, 0.5),
    ],
)
def test_overrides_win(load: Any, overrides: dict[str, Any], reader: Any, value: Any) -> None:
    assert (
        reader(load("min_rows: 3\n" if "min_rows" not in overrides else "", overrides=overrides).suite)
        == value
    )


def test_a_problem_of_an_override_names_it(refuse: Any) -> None:
    problems = refuse("", overrides={"uncertainty.replicats": 5, "min_rows": "x"})
    texts = [str(problem) for problem in problems]
    assert any(
        "--set uncertainty.replicats" in text and "did you mean 'replicates'?" in text for text in texts
    )
    assert any("--set min_rows" in text for text in texts)
    assert "not a mapping" in only(refuse("", overrides={"columns.label.x": 3})).message


def test_later_problems_are_located_in_the_file(load: Any) -> None:
    loaded = load("slices:\n  sex: sex\n  age: {column: age, bins: [1, 2]}\n")
    error = DataError(
        [
            Problem("no column 'sex'", ("slices", "sex")),
            Problem("no column 'age'", ("slices", "age", "columns", 0)),
            Problem("no column 'y'", ("columns", "label")),
            Problem("no rows"),
        ]
    )
    found = loaded.locate(error)
    assert isinstance(found, DataError)
    assert [place(problem)[0] for problem in found.problems[:3]] == [5, 6, 2]
    assert found.problems[3].where is None


def test_a_problem_is_placed_once_however_often_it_is_looked_up(load: Any) -> None:
    """At the last key of `--set` that gave its value, with the path that programs read."""
    overrides = {"models.a": "first", "models": {"a": "p"}, "models.b": "last", "slices.sex.colour": "red"}
    loaded = load("slices:\n  age: age\n", overrides={"models": {"a": "p"}, "models.b": "last"})
    loaded = replace(loaded, overrides=overrides)
    paths = [("models", "a", "score"), ("models", "b"), ("slices", "sex"), ("slices", "age")]
    error = DataError([Problem("wrong", path) for path in paths])
    found = loaded.locate(loaded.locate(error))
    texts = [str(problem).replace(str(loaded.file), "suite.yaml") for problem in found.problems]
    starts = ("--set models: ", "--set models.b: ", "--set slices.sex.colour: ", "suite.yaml:5:3: ")
    assert texts == [f"{start}wrong" for start in starts]
    assert [problem.path for problem in found.problems] == paths


def test_yaml_runs_nothing(refuse: Any, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    for text in (
        f"name: !!python/object/apply:os.mkdir ['{trap}']\n",
        f"name: !!python/object/new:os.mkdir ['{trap}']\n",
        f"data2: !!python/name:os.mkdir '{trap}'\n",
        f'metrics: [\'f1(threshold=__import__("os").mkdir("{trap}"))\']\n',
        f"slices: {{x: {{where: \"read_text('{trap}') = ''\"}}}}\n",
    ):
        assert refuse(text)
    assert not trap.exists()


def test_a_subquery_reads_no_file(refuse: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    problem = only(refuse(f"slices: {{x: {{where: \"a IN (SELECT c FROM read_csv('{pipe}'))\"}}}}\n"))
    assert "subquery is not allowed" in problem.message
    assert place(problem)[0] == 4


_pieces = st.sampled_from(
    [
        "a", "name", "metrics", "gates", "slices", "models", "columns", "data", ": ", ":", "- ", "\n", "\n  ", "\n    ",
        "[", "]", "{", "}", ", ", "'", '"', "# x", "|", ">", "? ", "!", "!!str ", "%YAML 1.1\n", "---\n", "...\n", "\t",
        "1", "1e-3", ".inf", "0o9", "null", "~", "true", "f1", "f1(", ")", "f1(a=1", "where", "a > 1", "bins",
        "2024-01-31", "\0", "\x85", "\ufeff", "é", "<<", "=", "@", "`", "column",
    ]
)  # fmt: skip


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_pieces, max_size=25).map("".join) | st.text(max_size=40) | st.binary(max_size=40))
def test_any_file_is_a_suite_or_a_config_error(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "suite.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    try:
        assert load_suite(file).suite.models
    except ConfigError as error:
        assert all(problem.message for problem in error.problems)  # noqa: PT017
