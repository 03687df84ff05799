"""Figures as Markdown sections, and the README that holds them between its prose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contestants import CONTESTANTS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.measure import Figures, Measurement
    from benchmarks.scenarios import Aim, Scenario


def section(scenario: Scenario, figures: Figures, environment: str) -> str:
    """A scenario's figures: a table, a line an aim, what was found, who was left out."""
    lines = [
        f"### {scenario.name}: {scenario.what}",
        "",
        f"{figures.rows:,} rows in {_of(scenario.files, 'file')}, {_of(figures.rounds, 'round')}. {environment}",
        "",
        "| contestant | median s | fastest to slowest | peak MB | given when the clock starts |",
        "|---|---:|---|---:|---|",
        *(_row(name, measurement) for name, measurement in figures.measured.items()),
        "",
        *(line for aim in scenario.aims for line in _aim(aim, figures)),
        f"* Values found by more than one contestant, all in agreement: {figures.shared:,}.",
        *(line for name, measurement in figures.measured.items() for line in _found(name, measurement)),
        *(
            f"* {name} skipped: not installed: {', '.join(packages)}."
            for name, packages in figures.skipped.items()
        ),
    ]
    return "\n".join(lines)


def _row(name: str, measurement: Measurement) -> str:
    fastest, slowest = min(measurement.seconds), max(measurement.seconds)
    peak = "" if measurement.peak_mb is None else f"{measurement.peak_mb:.0f}"
    return (
        f"| {name} | {measurement.median:.3f} | {fastest:.3f} to {slowest:.3f} | {peak} "
        f"| {CONTESTANTS[name].given} |"
    )


def _aim(aim: Aim, figures: Figures) -> list[str]:
    if aim.of not in figures.measured or aim.to not in figures.measured:
        return []
    of, to = figures.measured[aim.of].median, figures.measured[aim.to].median
    sign, is_, text = ("/", of / to, _ratio) if aim.by == "ratio" else ("-", of - to, _seconds)
    line = f"* {aim.of} {sign} {aim.to}: **{text(is_)}**"
    if aim.most is None:
        return [f"{line}."]
    return [f"{line}, aim at most {text(aim.most)}: {'reached' if is_ <= aim.most else 'not reached'}."]


def _ratio(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio >= 1 else f"1/{1 / ratio:.3g}"


def _of(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


def _found(name: str, measurement: Measurement) -> list[str]:
    """Counts, largest bounds and stages, where there are bounds, differences or a search to speak of."""
    facts = measurement.facts
    if not facts or not (facts["bounds"] or facts["comparisons"] or facts.get("search")):
        return []
    parts = [f"{facts['estimates']:,} estimates, {facts['comparisons']:,} comparisons"]
    if facts["bounds"]:
        bounds = ", ".join(f"{metric} {bound:.1e}" for metric, bound in facts["bounds"].items())
        parts.append(f"largest bound: {bounds}")
    if facts.get("search"):
        parts.append(facts["search"])
    parts.append("seconds: " + ", ".join(f"{stage} {spent:.1f}" for stage, spent in facts["stages"].items()))
    return [f"* {name}: {'; '.join(parts)}."]


def write_section(readme: Path, name: str, text: str) -> None:
    """Put a section between its marks; without marks it goes to the end. The rest stays as it is."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    known = readme.read_text(encoding="utf-8") if readme.exists() else "# Benchmarks\n"
    block = f"{begin}\n\n{text.strip()}\n\n{end}"
    before, found, rest = known.partition(begin)
    _, closed, after = rest.partition(end)
    if found and not closed:
        msg = f"{readme}: {begin} has no {end}; put it back, the figures go between the two"
        raise ValueError(msg)
    text = f"{before}{block}{after}" if found else f"{known.rstrip()}\n\n{block}\n"
    readme.write_text(text, encoding="utf-8")
