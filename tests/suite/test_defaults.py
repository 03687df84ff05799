from pathlib import Path
from typing import Any

import pytest

from plmetrics.core.errors import ConfigError, EnvironmentFault, Problem
from plmetrics.runs.record import fingerprint
from plmetrics.suite.yaml.load import LoadedSuite, load_suite

COMMON = """\
data: {path: "${PLACE}/*.parquet", where: "p > 0"}
columns: {label: y, weight: w}
models: {a: p, b: q}
metrics: [roc_auc, accuracy]
slices:
  region: region
  age: {column: age, bins: [25, 40]}
uncertainty:
  replicates: 200
  seed: 7
"""


@pytest.fixture(autouse=True)
def folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLACE", "scores")
    return root


def load(suite: str, overrides: dict[str, Any] | None = None, **files: str) -> LoadedSuite:
    for name, text in {"common": COMMON, **files}.items():
        Path(f"{name}.yaml").write_text(text)
    Path("suite.yaml").write_text(suite)
    return load_suite("suite.yaml", overrides)


def refused(suite: str, overrides: dict[str, Any] | None = None, **files: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(suite, overrides, **files)
    return [str(problem) for problem in caught.value.problems]


def test_a_suite_may_consist_of_its_defaults():
    loaded = load("defaults: common.yaml\n")
    assert loaded.suite.name == "suite"
    assert loaded.suite.data.path == "scores/*.parquet"
    assert loaded.defaults == ("common.yaml",)
    assert load(COMMON).defaults == ()


def test_mappings_are_merged_and_everything_else_is_replaced():
    suite = load(
        """
        defaults: common.yaml
        data: {where: null}
        models: {c: r}
        metrics: [f1]
        slices: {age: {bins: [50]}}
        uncertainty: {replicates: 50}
        """
    ).suite
    assert suite.data.where is None
    assert suite.columns.weight == "w"
    assert list(suite.models) == ["a", "b", "c"]
    assert [metric.text for metric in suite.metrics] == ["f1"]
    assert suite.slices["age"].columns == ("age",)
    assert suite.slices["age"].bins == (50,)
    assert suite.uncertainty is not None
    assert (suite.uncertainty.replicates, suite.uncertainty.seed) == (50, 7)


@pytest.mark.parametrize(
    ("text", "replicates"),
    [("", 200), ("uncertainty: null", None), ("uncertainty: false", None), ("uncertainty: true", 1000)],
)
def test_what_is_no_mapping_replaces_one(text, replicates):
    found = load(f"defaults: common.yaml\n{text}\n").suite.uncertainty
    assert (found and found.replicates) == replicates


def test_later_files_win_over_earlier_ones_and_the_suite_and_set_over_them():
    files = {
        "one": COMMON + "min_rows: 1\nmax_slices: 1\nexact: true\nmemory: 1\n",
        "two": "min_rows: 2\nmax_slices: 2\nexact: false\n",
    }
    text = "defaults: [one.yaml, two.yaml]\nmin_rows: 3\nmax_slices: 3\n"
    suite = load(text, {"min_rows": "4"}, **files).suite
    assert (suite.min_rows, suite.max_slices, suite.exact, suite.memory) == (4, 3, False, 1)


def test_files_are_relative_to_the_suite_and_so_are_paths_in_them(folder):
    (folder / "shared").mkdir()
    (folder / "shared" / "common.yaml").write_text(COMMON)
    (folder / "suites").mkdir()
    (folder / "suites" / "nightly.yaml").write_text("name: nightly\n")
    loaded = load_suite("suites/nightly.yaml", {"defaults": "../shared/common.yaml"})
    assert loaded.suite.data.path == "scores/*.parquet"
    assert loaded.folder == Path("suites")


def test_a_suite_names_defaults_in_its_folder_only(folder):
    (folder / "suites").mkdir()
    (folder / "common.yaml").write_text(COMMON)
    (folder / "suites" / "link.yaml").symlink_to(folder / "common.yaml")
    for name in ("../common.yaml", str(folder / "common.yaml"), "link.yaml"):
        (folder / "suites" / "nightly.yaml").write_text(f"defaults: {name}\n")
        with pytest.raises(ConfigError, match=r"nightly\.yaml:1:1: .* is outside of the suite's folder"):
            load_suite("suites/nightly.yaml")


def test_the_fingerprint_is_that_of_the_merged_suite():
    written_out = load(COMMON.replace("200", "50") + "min_rows: 3\n").suite
    merged = load("defaults: common.yaml\nmin_rows: 3\nuncertainty: {replicates: 50}\n").suite
    assert fingerprint(merged) == fingerprint(written_out)
    assert fingerprint(load("defaults: common.yaml\n").suite) != fingerprint(merged)


def test_set_may_name_other_defaults():
    other = COMMON.replace("200", "300")
    assert load("defaults: common.yaml\n", {"defaults": "other.yaml"}, other=other).defaults == (
        "other.yaml",
    )
    both = load("name: x\n", {"defaults": "[common.yaml, other.yaml]"}, other=other)
    assert both.defaults == ("common.yaml", "other.yaml")
    assert both.suite.uncertainty is not None
    assert both.suite.uncertainty.replicates == 300


def test_problems_are_located_in_the_file_that_they_come_from():
    common = COMMON.replace("seed: 7", "sed: 7").replace("accuracy", "acuracy") + "xyzzy: red\n"
    assert refused("defaults: common.yaml\nname: x\nuncertainty: {level: 2}\n", common=common) == [
        "suite.yaml:3:15: level must be less than 1, not 2",
        "common.yaml:4:20: unknown metric 'acuracy' for task 'binary'\n    did you mean 'accuracy'?",
        "common.yaml:10:3: unknown key 'sed'\n    did you mean 'seed'?",
        "common.yaml:11:1: unknown key 'xyzzy'",
    ]


def test_a_problem_of_a_replaced_value_is_not_located_in_the_defaults():
    common = COMMON.replace("roc_auc", "{fbeta: {beta: 2}}")
    (problem,) = refused("defaults: common.yaml\nmetrics: ['fbeta(beta=-1)']\n", common=common)
    assert problem.startswith("suite.yaml:2:")
    (problem,) = refused("defaults: common.yaml\nslices: {age: {bins: [3, x]}}\n")
    assert problem.startswith("suite.yaml:2:")


def test_a_later_problem_is_located_in_the_defaults():
    loaded = load("defaults: common.yaml\ncolumns: {label: z}\n")
    found = loaded.locate(
        ConfigError([Problem("a", ("columns", "weight")), Problem("b", ("columns", "label"))])
    )
    assert [str(problem) for problem in found.problems] == ["common.yaml:2:21: a", "suite.yaml:2:11: b"]


def test_a_variable_that_is_not_set_is_located_in_the_defaults(monkeypatch):
    monkeypatch.delenv("PLACE")
    (problem,) = refused("defaults: common.yaml\n")
    assert problem.startswith("common.yaml:1:8: the environment variable PLACE is not set")
    assert load("defaults: common.yaml\ndata: {path: x}\n").suite.data.path == "x"


@pytest.mark.parametrize(
    ("suite", "problem"),
    [
        (
            "defaults: comon.yaml\n",
            "suite.yaml:1:1: comon.yaml: there is no such file\n    did you mean 'common.yaml'?",
        ),
        ("defaults: [common.yaml,\n  absent.yaml]\n", "suite.yaml:2:3: absent.yaml: there is no such file"),
        ("defaults: .\n", "suite.yaml:1:1: .: this is a folder, not a suite"),
        ("defaults: 3\n", "suite.yaml:1:1: defaults must be a file or a list of files, not 3"),
        ("defaults: {a: b.yaml}\n", "suite.yaml:1:1: defaults must be a file or a list of files, not "),
        (
            "defaults: [common.yaml, null]\n",
            "suite.yaml:1:1: defaults must be a file or a list of files, not ",
        ),
        ("defaults: suite.yaml\n", "suite.yaml:1:1: a file of defaults cannot have defaults itself"),
        ("defaults: loop.yaml\n", "loop.yaml:2:1: a file of defaults cannot have defaults itself"),
        ("defaults: torn.yaml\n", "torn.yaml:2:1: this is no YAML: "),
        ("defaults: list.yaml\n", "list.yaml:1:1: a suite is a mapping of keys to values"),
        ("default: common.yaml\n", "suite.yaml:1:1: unknown key 'default'\n    did you mean 'defaults'?"),
    ],
)
def test_files_that_cannot_be_defaults(suite, problem):
    found = refused(suite, loop="name: x\ndefaults: suite.yaml\n", torn="a: [\n", list="- 1\n")
    assert any(line.startswith(problem) for line in found), found


@pytest.mark.parametrize("text", ["defaults: null\n", "defaults: []\n", "defaults:\n"])
def test_no_defaults(text):
    assert load(COMMON + text).defaults == ()


def test_a_problem_of_set_defaults():
    assert refused(COMMON, {"defaults": "no.yaml"})[0].startswith(
        "--set defaults: no.yaml: there is no such file"
    )


def test_defaults_that_may_not_be_read(monkeypatch):
    usual = Path.open

    def refuse(path: Path, *mode: str, **options: Any) -> Any:
        if path.name == "common.yaml" and mode == ("rb",):
            raise PermissionError(13, "Permission denied")
        return usual(path, *mode, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        EnvironmentFault, match=r"suite\.yaml:1:1: common\.yaml: cannot be read: permission denied"
    ):
        load("defaults: common.yaml\n")


@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        ("uncertainty: true", {"uncertainty.replicates": 50}, {"uncertainty": {"replicates": 50}}),
        ("uncertainty: null", {"uncertainty.replicates": "50"}, {"uncertainty": {"replicates": 50}}),
        ("uncertainty: false", {"uncertainty.seed": 3}, {"uncertainty": {"seed": 3}}),
        ("labels: true", {"labels.coverage": "0.5"}, {"labels": {"coverage": 0.5}}),
        ("compare: a", {"compare.correction": "none"}, {"compare": {"baseline": "a", "correction": "none"}}),
        ("models: p", {"models.b": "q"}, {"models": {"p": {"score": "p"}, "b": {"score": "q"}}}),
        (
            "models: [p, q]",
            {"models.b": "q"},
            {"models": {name: {"score": name.replace("b", "q")} for name in "pqb"}},
        ),
        ("models: {a: p}", {"models.a.score": "q"}, {"models": {"a": {"score": "q"}}}),
        ("slices: [g]", {"slices.h": "h"}, {"slices": {"g": {"columns": ["g"]}, "h": {"columns": ["h"]}}}),
        ("slices: {g: g}", {"slices.g.bins": "[3]"}, {"slices": {"g": {"columns": ["g"], "bins": [3]}}}),
        ("metrics: [roc_auc]", {"metrics": "[f1, recall]"}, {"metrics": ["f1", "recall"]}),
        ("", {"gates": "[{metric: roc_auc, at_least: 0.5}]"}, {}),
    ],
)
def test_set_below_a_shorthand(text, overrides, expected):
    head = "data: {path: x}\ncolumns: {label: y}\n" + ("" if "models" in text else "models: {a: p, b: q}\n")
    suite = load(f"{head}{text}\n", overrides).suite.model_dump(mode="json", exclude_unset=True)
    said = suite.get("sections", {}) | suite
    assert {key: said[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("name.x", "--set name.x: 'name' is not a mapping"),
        (
            "metrics.0",
            "--set metrics.0: 'metrics' is not a mapping\n    a list is replaced whole: --set 'metrics=[...]'",
        ),
        ("columns.label.x", "--set columns.label.x: 'label' is not a mapping"),
        (
            "slices.age.bins.0",
            "--set slices.age.bins.0: 'bins' is not a mapping\n    a list is replaced whole",
        ),
        ("uncertainty.seed.x", "--set uncertainty.seed.x: 'seed' is not a mapping"),
    ],
)
def test_set_below_what_is_not_a_mapping(key, words):
    (problem,) = refused("defaults: common.yaml\nname: x\n", {key: "1"})
    assert problem.startswith(words)
