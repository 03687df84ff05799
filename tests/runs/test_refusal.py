"""What a suite that is refused leaves behind."""

from pathlib import Path

import pytest

import plmetrics as plm


@pytest.mark.parametrize("name", ["my suite", "é", "[a]", "a$b", "-x", "a" * 101, "a/b", ".a"])
def test_a_suite_whose_name_is_refused_leaves_no_folder(tmp_path: Path, name: str) -> None:
    suite = tmp_path / "s.yaml"
    suite.write_text(
        f"{{name: '{name}', data: {{path: d.parquet}}, columns: {{label: y}}, models: {{a: a}}}}"
    )
    with pytest.raises(plm.ConfigError, match="name must be usable as a folder's name"):
        plm.run(suite)
    assert list(tmp_path.iterdir()) == [suite]


def test_a_suite_with_a_good_name_leaves_a_failed_run(tmp_path: Path) -> None:
    suite = tmp_path / "s.yaml"
    suite.write_text("{name: n, data: {path: d.parquet}, columns: {label: y}, models: {a: a}, wrong: 1}")
    with pytest.raises(plm.ConfigError, match="wrong"):
        plm.run(suite)
    assert (tmp_path / "runs" / "n" / "latest.json").is_file()
