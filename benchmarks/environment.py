"""Machine and versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

PACKAGES = ("plmetrics", "polars", "numpy", "scikit-learn", "fairlearn", "rapidstats", "polars-ds", "duckdb")


def environment() -> str:
    """Day, machine and versions in a line; a package that is not installed says so."""
    machine = f"{processor()}, {os.cpu_count()} cores, {memory()}, Python {platform.python_version()}"
    versions = ", ".join(map(version, PACKAGES))
    return f"{datetime.now(UTC).date().isoformat()}, {machine}, {versions}, products of {product_library()}."


def product_library() -> str:
    """The library of matrix products and the processor that it computes for."""
    import numpy  # noqa: F401 (its library is there only then)
    from threadpoolctl import threadpool_info

    names = [
        f"{library['internal_api']} for {library.get('architecture', 'any processor')}"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]
    return " and ".join(dict.fromkeys(names)) or "NumPy"


def version(package: str) -> str:
    """Name and version."""
    if package == "plmetrics":
        import plmetrics

        return f"{package} {plmetrics.__version__}"
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} absent"


def processor() -> str:
    """The processor's name where the system tells it, else its architecture."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def memory() -> str:
    """Memory of the machine."""
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB"
