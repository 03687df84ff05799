"""README and documentation are complete and current: words, keys, links, generated parts, contents, lengths."""

import inspect
import os
import re
from functools import cache
from typing import get_args

import pytest
import yaml
from architecture.pages import DOCS, EVERYTHING, PAGES, README, ROOT, prose

import plmetrics as plm
from docs import generate
from plmetrics.catalogue import registry
from plmetrics.catalogue.custom import AGGREGATES
from plmetrics.cli.app import app
from plmetrics.core.results import FURTHER_TABLES, TABLES
from plmetrics.core.rowsql.functions import FUNCTION_NAMES
from plmetrics.report.catalogue import undefined_statuses
from plmetrics.suite.reader import suite_keys
from plmetrics.suite.schema import json_schema
from plmetrics.suite.sections.basics import Compare, Curve, SliceSet
from plmetrics.suite.sections.gates import Gate
from plmetrics.suite.sections.uncertainty import Uncertainty
from plmetrics.suite.tasks import CurveName
from plmetrics.table.data_files import endings

SCHEMAS = {**TABLES, **FURTHER_TABLES}

UPDATE = "PLMETRICS_UPDATE"
LONGEST = 250
TEXT = PAGES["README.md"]
COMMANDS = [info.callback.__name__ for info in app.registered_commands if info.callback]
OTHERS = {name: (ROOT / name).read_text("utf-8") for name in ("CONTRIBUTING.md", "CHANGELOG.md")}


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = [line for line in TEXT.splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci" / "run").read_text().splitlines()


@pytest.mark.parametrize("page", [page for page in PAGES if "<!-- generated: " in PAGES[page]])
def test_generated_parts_are_current(page: str) -> None:
    if os.environ.get(UPDATE):
        (ROOT / page).write_text(generate.updated(PAGES[page]), encoding="utf-8")
        return
    assert generate.updated(PAGES[page]) == PAGES[page], "run python -m docs.generate"


def test_pages_are_short() -> None:
    texts = PAGES | {"CONTRIBUTING.md": OTHERS["CONTRIBUTING.md"]}
    assert not {page for page, text in texts.items() if text.count("\n") > LONGEST}


def test_every_metric_has_one_card() -> None:
    parts = [part[2].split() for text in PAGES.values() for part in generate.PART.finditer(text)]
    cards = [
        (task, module)
        for kind, task, *modules in filter(lambda p: p[0] == "cards", parts)
        for module in modules
    ]
    ours = {
        (metric.task, metric.__module__.rpartition(".")[2])
        for metric in registry.classes()
        if metric.__module__.startswith("plmetrics.")
    }
    assert len(cards) == len(set(cards))
    assert set(cards) == ours


def test_every_key_of_the_suite_is_generated() -> None:
    shown = {
        part[2].split()[1]
        for text in PAGES.values()
        for part in generate.PART.finditer(text)
        if "keys" in part[2]
    }
    models = {name for name, shape in json_schema()["$defs"].items() if shape.get("properties")}
    assert models - shown == {"Diagnosis"}
    assert "Suite" in shown


def test_every_command_is_generated() -> None:
    parts = [part[2].split() for text in PAGES.values() for part in generate.PART.finditer(text)]
    assert sorted(name for kind, *names in parts if kind == "commands" for name in names) == sorted(COMMANDS)


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_column_has_a_meaning(table: str) -> None:
    assert not set(SCHEMAS[table]) - set(generate.column_meanings(table))
    assert f"<!-- generated: columns {table} -->" in EVERYTHING


def test_no_meaning_is_for_a_column_that_is_not() -> None:
    written = yaml.safe_load((DOCS / "columns.yaml").read_text("utf-8"))
    shared = written.pop("shared")
    assert set(written) <= set(SCHEMAS)
    assert not [
        (table, name) for table, words in written.items() for name in words if name not in SCHEMAS[table]
    ]
    assert all(any(name in schema for schema in SCHEMAS.values()) for name in shared)


def test_all_that_is_public_has_its_reference() -> None:
    assert sorted(re.findall(r"^::: plmetrics\.(\w+)$", PAGES["docs/api.md"], re.MULTILINE)) == sorted(
        plm.__all__
    )


def test_the_glossary_fits_on_a_screen() -> None:
    terms = re.findall(r"^\| (?!term |-)", PAGES["docs/concepts.md"], re.MULTILINE)
    assert 30 <= len(terms) <= 45


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_explained(command: str) -> None:
    assert f"`{command}`" in PAGES["docs/commands.md"]
    assert re.search(rf"^plmetrics {command}\b", EVERYTHING, re.MULTILINE)


def test_the_contents_name_every_chapter() -> None:
    chapters = [
        chapter for chapter in re.findall(r"^## (.+)$", prose(TEXT), re.MULTILINE) if chapter != "Start"
    ]
    contents = TEXT[TEXT.index("**Contents**") : TEXT.index("## The whole way")]
    assert re.findall(r"\[(.+?)\]\(#", contents) == chapters


def test_the_site_has_every_page() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"[\w/-]+\.md\b", navigation)
    assert sorted(named) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_links_from_the_readme_reach_every_page() -> None:
    reached, waiting = set(), [README]
    while waiting:
        page = waiting.pop()
        name = page.relative_to(ROOT).as_posix()
        if name in reached or name not in PAGES:
            continue
        reached.add(name)
        waiting += [(page.parent / link).resolve() for link in links(PAGES[name]) if link]
    assert reached == set(PAGES)


def test_the_keywords_of_evaluate_are_listed() -> None:
    text = PAGES["docs/python.md"]
    listed = text[text.index("The keyword arguments are the keys of the suite") :].split("\n\n")[0]
    parameters = inspect.signature(plm.evaluate).parameters.items()
    keywords = [name for name, parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    assert re.findall(r"`(\w+)`", listed) == keywords


def links(text: str) -> list[str]:
    """The files that a page links to; the page itself is ''."""
    return [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", prose(text))]


@cache
def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_lead_somewhere() -> None:
    for page, text in (PAGES | OTHERS).items():
        for link in re.findall(r"\]\(([^)]+)\)", prose(text)):
            file, _, anchor = link.partition("#")
            target = (ROOT / page).parent / file if file else ROOT / page
            assert target.exists(), (page, link)
            assert not anchor or anchor in anchors(target.read_text("utf-8")), (page, link)


def test_paths_that_are_named_exist() -> None:
    for page, text in (PAGES | OTHERS).items():
        for path in re.findall(r"`((?:plmetrics|configs|benchmarks|tests|docs)/[\w/.-]+)`", prose(text)):
            assert (ROOT / path).exists(), (page, path)


def test_every_word_is_explained() -> None:
    names = [
        *(column for schema in TABLES.values() for column in schema),
        "defaults",
        *(key for key in suite_keys() if key not in {"data", "columns", "output"}),
        *(f"uncertainty.{key}" for key in Uncertainty.model_fields),
        *(f"compare.{key}" for key in Compare.model_fields),
        *Gate.model_fields,
        *Curve.model_fields,
        *get_args(CurveName),
        *(name.upper() for name in FUNCTION_NAMES),
        *(ending for ending in endings() if not ending.endswith((".gz", ".zst"))),
    ]
    assert not [name for name in names if f"`{name}`" not in EVERYTHING]


@pytest.mark.parametrize("key", ["column", *SliceSet.model_fields])
def test_every_key_of_a_slice_set_is_shown(key: str) -> None:
    shown = PAGES["docs/slices.md"]
    assert f"{{{key}: " in shown or f", {key}: " in shown


@pytest.mark.parametrize("kind", [*AGGREGATES, "quantile", "formula", "over"])
def test_every_kind_of_custom_metric_is_explained(kind: str) -> None:
    assert f"`{kind}: " in PAGES["docs/custom-metrics.md"]


@pytest.mark.parametrize(
    "status", sorted({word for cls in registry.classes() for word in undefined_statuses(cls)})
)
def test_every_status_is_explained(status: str) -> None:
    assert f"`{status}`" in PAGES["docs/statuses.md"]


@pytest.mark.parametrize("task", registry.tasks())
def test_default_metrics_are_those_of_the_task(task: str) -> None:
    listed = ", ".join(f"`{metric.text}`" for metric in registry.default_metrics(task))
    assert f"for `{task}` {listed}" in " ".join(PAGES["docs/metrics/index.md"].split())
