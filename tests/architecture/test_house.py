"""What keeps the code easy to find one's way in: sizes, names, and how little a plain run loads."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import plmetrics

PACKAGE = Path(plmetrics.__file__).parent
MODULES = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]

MOST_MODULES_OF_A_FOLDER = 18
MOST_LINES = 400
MOST_OF_A_NAME = 3
TESTS_OF_MORE = {
    "architecture": "rules of the whole package",
    "benchmarks": "the folder of that name",
    "configs": "suites that ship",
    "corpus": "messages for people",
    "references": "numbers of other libraries",
    "suites": "made-up suites for other tests",
}
"""Folders of tests that are of no folder of the package, and what they are of."""
MOST_LOADED = {"recall": 130, "recall with intervals in slices": 170}
"""By run how many modules of the package it may load."""

TYPED = (
    *("core/*.py", "core/rowsql/*.py", "engine/re*.py", "engine/run_plan.py", "engine/prepare/constants.py"),
    *(
        "engine/aggregate/*.py",
        "engine/st*.py",
        "inference/analysis.py",
        "inference/subject.py",
        "inference/est*.py",
    ),
    *(
        "inference/ordered/stage.py",
        "gates/*.py",
        "features/protocol.py",
        "features/registry.py",
        "api/**/*.py",
    ),
)
"""Modules whose types say what is handed over."""

ANYTHING = {
    "Values": "the type of an array's numbers",
    "Operand": "what formulas read",
    "Node": "trees of sqlglot",
    "SparkFrame": "tables of pyspark",
}
"""Names of types that may be anything: formulas are written once, sqlglot's classes differ, pyspark is optional."""

VAGUE = re.compile(
    r"(?<![a-z])(said|kept|held|found|made|known|beside|looks?|revived|carried|additions?|adding|counted|encoded|ranked"
    r"|alike|tested|doubts|frugal|rests?)$"
)

PARTICIPLE = re.compile(
    r"(?<![a-z])([a-z]*(?<!ne)(?<!se)(?<!spe)ed|found|held|made|known|kept|said|told|taken|given|shown|drawn|written|lost|won|beside"
    r"|both|each|every|other|others|some|few|many|more|most|least|own|whose|nothing|all)$"
)
"""What no module, function or class is called: a participle or a pronoun ends its name. `is_lost` may be."""

NAMES = {
    "api/inspection.py: Validated": "public",
    "catalogue/regression/errors.py: BiasSquared": "the metric's name",
    "catalogue/regression/explained_variance.py: RSquared": "the metric's name",
    "catalogue/regression/explained_variance.py: AdjustedRSquared": "the metric's name",
    "core/errors.py: Collected": "an error by its name in tracebacks",
    "inference/comparisons/correction.py: adjusted": "public in plm.tests",
    **{
        f"features/splits/splitters.py: {name}": "public in plm.splits"
        for name in ("stratified", "grouped", "stratified_grouped", "repeated", "nested")
    },
    "features/splits/time_splits.py: time_ordered": "public in plm.splits",
}
"""Functions and classes that are called so, and why."""

SHARED = {"SliceSet"}
"""The name of a set of slices in tables, and of its section in schemas of suites."""

RUNS = {
    "recall": "",
    "recall with intervals in slices": ", uncertainty={'replicates': 20}, slices={'g': 'g'}",
}


def shown(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def definitions(path: Path, keywords: str) -> list[str]:
    """Names that a module defines at its top level."""
    return re.findall(rf"^(?:{keywords}) (\w+)", path.read_text(), re.MULTILINE)


def test_folders_fit_on_one_screen() -> None:
    sizes = Counter(shown(path.parent) for path in MODULES)
    assert not {folder: size for folder, size in sizes.items() if size > MOST_MODULES_OF_A_FOLDER}


def test_modules_are_one_concept_long() -> None:
    lines = {shown(path): len(path.read_text().splitlines()) for path in MODULES}
    assert not {name: length for name, length in lines.items() if length > MOST_LINES}


def test_folders_of_tests_are_those_of_the_code() -> None:
    tests = Path(__file__).parents[1]
    folders = {path.parent.relative_to(tests).as_posix() for path in tests.rglob("test_*.py")}
    others = {folder.partition("/")[0] for folder in folders if not (PACKAGE / folder).is_dir()}
    assert others == TESTS_OF_MORE.keys()


def test_names_of_modules_tell_them_apart() -> None:
    names = Counter(path.stem for path in MODULES)
    assert not {name: number for name, number in names.items() if number > MOST_OF_A_NAME}
    assert not [shown(path) for path in MODULES if VAGUE.search(path.stem)]
    assert not [shown(path) for path in MODULES if PARTICIPLE.search(path.stem)]


def test_functions_and_classes_are_nouns_and_verbs() -> None:
    named = {
        f"{shown(path)}: {name}"
        for path in MODULES
        for name in definitions(path, "def|class")
        if PARTICIPLE.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
        and not name.lstrip("_").startswith(("is_", "has_"))
    }
    assert named - NAMES.keys() == set()
    assert NAMES.keys() - named == set()


def test_methods_are_nouns_and_verbs() -> None:
    names = {
        f"{node.name}.{method.name}"
        for path in MODULES
        if any(map(PARTICIPLE.search, definitions(path, " +def")))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        and method.name != "undefined"
        and not method.name.lstrip("_").startswith(("is_", "has_"))
    }
    participles = {name for name in names if PARTICIPLE.search(name.rpartition(".")[2])}
    assert participles == {"Diff.changed", "Result.kept", "Rows.called", "Rows.centred"}, (
        "all but the public ones"
    )


def test_classes_have_names_of_their_own() -> None:
    """But for metrics, which are called the same in several tasks, and types of the keys of sections."""
    named = Counter(
        name
        for path in MODULES
        if path.stem != "section_keywords" and not shown(path.parent).startswith("catalogue/")
        for name in definitions(path, "class")
        if not name.startswith("_")
    )
    assert {name for name, number in named.items() if number > 1} == SHARED


def loaded(options: str) -> list[str]:
    """The modules of the package that an evaluation loads, in a process of its own."""
    script = f"""
import sys
import polars as pl, plmetrics as plm
frame = pl.DataFrame({{"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.3], "g": ["a", "b", "a", "b"]}})
plm.evaluate(frame, label="y", models="p", metrics=["recall"]{options})
print(*sorted(name for name in sys.modules if name.startswith("plmetrics")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_run_loads_what_it_asks_for() -> None:
    for name, options in RUNS.items():
        modules = loaded(options)
        assert len(modules) <= MOST_LOADED[name], (name, len(modules))
        features = {module.split(".")[2] for module in modules if module.startswith("plmetrics.features.")}
        assert features <= {"registry", "protocol"}
        assert not [module for module in modules if re.search("histor|earlier|runs.reading|synonyms", module)]


def test_what_is_handed_over_has_a_type() -> None:
    untyped = {}
    for path in (path for pattern in TYPED for path in sorted(PACKAGE.glob(pattern))):
        tree = ast.parse(path.read_text())
        named = {
            node.target.id: node
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        excused = {id(part) for name, node in named.items() if name in ANYTHING for part in ast.walk(node)}
        names = [
            node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in {"Any", "locals"}
        ]
        untyped[shown(path)] = [node.lineno for node in names if id(node) not in excused]
    assert not {name: lines for name, lines in untyped.items() if lines}


def test_types_with_parameters_are_looked_up_in_no_set() -> None:
    """A column's `Enum(...)` equals `pl.Enum` and has another hash: no set of types has it, `isinstance` does."""
    parameters = {"Array", "Categorical", "Datetime", "Decimal", "Duration", "Enum", "List", "Struct"}
    pattern = re.compile(rf"[{{,(]\s*pl\.({'|'.join(parameters)})\b")
    faults = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in MODULES
        if pattern.search(path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn))
        for member in getattr(node.comparators[0], "elts", ())
        if isinstance(node.comparators[0], ast.Set)
        and isinstance(member, ast.Attribute)
        and ast.unparse(member.value) == "pl"
        and member.attr in parameters
    ]
    assert not faults
