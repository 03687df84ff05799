"""The pages of the documentation, their fenced blocks, and a folder in which those of a page run."""

import re
import shutil
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from typer.testing import CliRunner

from plmetrics.cli.app import app

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in [README, *sorted(DOCS.rglob("*.md"))]
}
"""The text of the README and of every page of `docs`, by path."""
EVERYTHING = "\n".join(PAGES.values())
NIGHT = "2026-03-07"
"""The interval of which suites with `interval` are run: the last one of the folder `nights`."""
BASE: dict[str, Any] = {
    "name": "snippet",
    "data": {"path": "scores/*.parquet"},
    "columns": {"label": "defaulted"},
    "models": {"champion": "score_v1", "challenger": "score_v2"},
    "metrics": ["roc_auc"],
}
REGRESSION = {"columns": {"label": "balance"}, "models": {"champion": "forecast"}, "metrics": ["mae"]}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    language: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file that the block's first line says it is."""
        found = re.match(r"# (\S+\.ya?ml)\b", self.text)
        return found[1] if found else None


BLOCKS = [
    Block(name, match[1], match[2], text.count("\n", 0, match.start()) + 1)
    for name, text in PAGES.items()
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
]


def blocks(*languages: str, page: str | None = None) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages and page in {None, block.page}]


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def make_tables(folder: Path) -> None:
    """The tables that snippets read."""
    (folder / "data").symlink_to(ROOT / "configs" / "data", target_is_directory=True)
    (folder / "scores").mkdir()
    table = prediction_table(600)
    for index, month in enumerate(("january", "february")):
        table[index * 300 : index * 300 + 300].write_parquet(folder / "scores" / f"{month}.parquet")
    for (day,), part in table.partition_by("day", as_dict=True, include_key=False).items():
        (folder / "days" / f"day={day}").mkdir(parents=True)
        part.write_parquet(folder / "days" / f"day={day}" / "part-0.parquet")
    for number in range(7):
        night = folder / "nights" / f"day=2026-03-0{number + 1}"
        night.mkdir(parents=True)
        table[number * 80 : number * 80 + 80].drop("day").write_parquet(night / "part-0.parquet")
    applications = table.select("defaulted", "score_v1", "score_v2", "split", "region", "age").with_row_index(
        "application_id"
    )
    applications.with_columns(scored_on=pl.date(2026, 3, 1)).write_parquet(folder / "applications.parquet")
    earlier = pl.DataFrame({"application_id": range(595, 700), "scored_on": [date(2026, 2, 1)] * 105})
    earlier.write_parquet(folder / "training.parquet")


def make_folder(folder: Path, tables: Path, page: str) -> None:
    """A folder with the tables and the files that the snippets of a page read: its own files, else those of others."""
    shutil.copytree(tables, folder, symlinks=True)
    for block in (*blocks("yaml"), *blocks("yaml", page=page)):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    (folder / "suite.yaml").write_text(full_suite(), encoding="utf-8")
    if "state: january.state" in PAGES[page]:
        before = ["--set", "data.path=scores/january.parquet", "--output", str(folder / "january.state")]
        CliRunner().invoke(app, ["state", str(folder / "nightly.yaml"), *before], catch_exceptions=False)


def full_suite() -> str:
    return next(block.text for block in blocks("yaml") if "name: credit-risk" in block.text)


def prediction_table(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    chance = rng.random(rows)
    return pl.DataFrame(
        {
            "customer_id": rng.integers(0, rows // 3, rows),
            "defaulted": (rng.random(rows) < chance).astype(int),
            "score_v1": chance,
            "score_v2": np.clip(chance + rng.normal(0, 0.1, rows), 0, 1),
            "svm_decision": np.log(chance / (1.0 - chance)),
            "decision": (chance > 0.6).astype(int),
            "forecast": rng.normal(50_000, 20_000, rows),
            "exposure": rng.integers(1, 4, rows).astype(float),
            "balance": rng.integers(1, 200_000, rows),
            "age": rng.integers(18, 80, rows),
            "region": rng.choice(["north", "south", "east"], rows),
            "country": rng.choice(["de", "fr", "es", "it", "pl"], rows),
            "device": rng.choice(["web", "phone"], rows),
            "channel": rng.choice(["live", "test"], rows, p=[0.9, 0.1]),
            "split": rng.choice(["valid", "test"], rows),
            "segments": [["vip"] * (i % 3 == 0) + ["new"] * (i % 2) for i in range(rows)],
            "day": [date(2026, 1 + i % 3, 1 + i % 2) for i in range(rows)],
        }
    )


def runnable(block: Block, folder: Path) -> Path:
    """The block as a suite in a file: what it leaves out is taken from a small one."""
    given = yaml.safe_load(block.text)
    base = BASE | REGRESSION if given.get("task") == "regression" else BASE
    if given.get("task") == "experiment":
        base = {"data": BASE["data"]}
    rest = {key: value for key, value in base.items() if key not in given and "defaults" not in given}
    file = folder / f"snippet-{block.line}.yaml"
    file.write_text(block.text + yaml.safe_dump(rest) * bool(rest), encoding="utf-8")
    return file
