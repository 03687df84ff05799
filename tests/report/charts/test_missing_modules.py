"""A module of the extra that cannot be imported, however it is refused."""

import sys

import pytest

import plmetrics as plm
from plmetrics.report.charts import rendering


class Blocker:
    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in ("altair", "vl_convert"):
            raise ModuleNotFoundError(name)


@pytest.mark.parametrize("refuse", ["finder", "placeholder"])
def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, refuse: str) -> None:
    for name in ("altair", "vl_convert"):
        if refuse == "placeholder":
            monkeypatch.setitem(sys.modules, name, None)
        else:
            monkeypatch.delitem(sys.modules, name, raising=False)
    if refuse == "finder":
        monkeypatch.setattr(sys, "meta_path", [Blocker(), *sys.meta_path])
    assert not rendering.is_installed()
    with pytest.raises(plm.EnvironmentFault, match="extra 'report'"):
        rendering.require("altair")
