"""Tests of several classifiers on two tables that textbooks and packages print, with what they print of them."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

TREES = {
    "C4.5": [763, 599, 954, 628, 882, 936, 661, 583, 775, 1000, 940, 619, 972, 957],
    "C4.5+m": [768, 591, 971, 661, 888, 931, 668, 583, 838, 1000, 962, 666, 981, 978],
    "C4.5+cf": [771, 590, 968, 654, 886, 916, 609, 563, 866, 1000, 965, 614, 975.1, 946],
    "C4.5+m+cf": [798, 569, 967, 657, 898, 931, 685, 625, 875, 1000, 962, 669, 975, 970],
}
"""Areas, in thousandths, on 14 data sets: Demsar (2006), JMLR 7, table 6. Two that are printed alike have ranks 2 and 3
there, so that the first has a tenth more here."""

FIVE = {
    "C4.5": [
        *(219, 803, 859, 809, 768, 759, 693, 544, 945, 725, 674, 801, 785, 710, 691),
        *(743, 990, 867, 821, 893, 799, 845, 741, 799, 949, 555, 928, 915, 855, 906),
    ],
    "k-NN": [
        *(202, 750, 814, 774, 790, 654, 611, 531, 954, 705, 736, 357, 770, 402, 827),
        *(739, 482, 98, 872, 824, 655, 731, 701, 994, 955, 505, 928, 857, 796, 359),
    ],
    "NaiveBayes": [
        *(249, 813, 845, 673, 727, 734, 572, 558, 978, 739, 721, 520, 841, 728, 667),
        *(830, 941, 915, 815, 902, 925, 693, 591, 603, 989, 569, 945, 860, 857, 895),
    ],
    "Kernel": [
        *(165, 692, 542, 275, 872, 703, 689, 439, 541, 625, 356, 309, 659, 120, 527),
        *(549, 857, 986, 885, 739, 517, 653, 663, 269, 770, 312, 419, 700, 607, 641),
    ],
    "CN2": [
        *(261, 798, 816, 785, 706, 714, 572, 541, 858, 717, 704, 520, 759, 674, 638),
        *(746, 990, 784, 778, 885, 755, 704, 619, 621, 954, 556, 897, 777, 809, 918),
    ],
}
"""Accuracies, in thousandths, on 30 data sets: Garcia and Herrera (2008), JMLR 9, table 2, as `data.gh.2008` of the R
package scmamp 0.3.2 (Calvo and Santafe) has them; that package's vignette prints the values below."""


def test_ranks_and_global_tests_of_demsar() -> None:
    """The paper's formula does not correct for ties."""
    ranks = dict(plm.tests.mean_ranks(TREES).select("model", "mean_rank").iter_rows())
    printed = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    assert ranks == pytest.approx(printed, abs=5e-4)
    assert plm.tests.friedman(TREES, tie_correction=False).statistic == pytest.approx(9.28, abs=5e-3)
    corrected = plm.tests.iman_davenport(TREES, tie_correction=False)
    assert corrected.statistic == pytest.approx(3.69, abs=5e-3)
    assert corrected.df == (3, 39)


@pytest.mark.parametrize(
    ("level", "critical", "significant"),
    [(0.95, 1.25, set()), (0.9, 1.12, {("C4.5+m", "C4.5"), ("C4.5+m+cf", "C4.5")})],
)
def test_critical_differences_of_demsar(
    level: float, critical: float, significant: set[tuple[str, str]]
) -> None:
    found = plm.tests.nemenyi(TREES, level=level)
    assert found["critical_difference"].to_list() == pytest.approx([critical] * 6, abs=5e-3)
    assert set(found.filter("significant").select("model", "baseline").rows()) == significant


def test_signed_ranks_of_demsar() -> None:
    """Of C4.5+m and C4.5 the ranks of losses are 12; the two zeros are split, with the odd one left out."""
    found = plm.tests.wilcoxon(TREES["C4.5+m"], TREES["C4.5"], zeros="split")
    assert found.statistic == pytest.approx(12)
    assert found.p_value is not None
    assert found.p_value < 0.05


def test_global_tests_of_garcia_and_herrera() -> None:
    friedman = plm.tests.friedman(FIVE, tie_correction=False)
    assert friedman.statistic == pytest.approx(39.647, abs=5e-4)
    assert friedman.p_value == pytest.approx(5.121e-08, rel=2e-4)
    corrected = plm.tests.iman_davenport(FIVE, tie_correction=False)
    assert corrected.statistic == pytest.approx(14.309, abs=5e-4)
    assert corrected.df == (4, 116)
    assert corrected.p_value == pytest.approx(1.593e-09, rel=4e-4)


def test_pairs_of_garcia_and_herrera() -> None:
    found = plm.tests.nemenyi(FIVE, df="finite")
    assert found["critical_difference"].to_list() == pytest.approx([1.1277] * 10, abs=5e-5)
    printed = {
        ("C4.5", "k-NN"): -1.15,
        ("C4.5", "NaiveBayes"): -0.1,
        ("C4.5", "Kernel"): -2.233333,
        ("C4.5", "CN2"): -1.0166667,
        ("k-NN", "NaiveBayes"): 1.05,
        ("k-NN", "Kernel"): -1.083333,
        ("k-NN", "CN2"): 0.1333333,
        ("NaiveBayes", "Kernel"): -2.133333,
        ("NaiveBayes", "CN2"): -0.9166667,
        ("Kernel", "CN2"): 1.2166667,
    }
    for model, baseline, difference, significant in found.select(
        "model", "baseline", "difference", "significant"
    ).iter_rows():
        theirs = printed.get((model, baseline), -printed.get((baseline, model), np.nan))
        assert difference == pytest.approx(theirs, abs=5e-7)
        assert significant == (abs(theirs) > 1.1277)


def test_the_tables_through_a_suite() -> None:
    """Folds of rows whose accuracies are the table's are tested as the table is."""
    names = ["C4.5", "NaiveBayes", "Kernel"]
    rows = pl.concat(
        pl.DataFrame(
            {
                "fold": fold,
                "y": [1] * 1000,
                **{name: [1.0] * FIVE[name][fold] + [0.0] * (1000 - FIVE[name][fold]) for name in names},
            }
        )
        for fold in range(8)
    )
    asked = {"baseline": "C4.5", "tests": ["friedman", "iman_davenport", "wilcoxon"]}
    found = plm.evaluate(rows, label="y", models=names, metrics=["accuracy"], fold="fold", compare=asked)
    table = {name: [value / 1000 for value in FIVE[name][:8]] for name in names}
    of_tests = found.comparisons.drop_nulls("test")
    friedman = of_tests.filter(test="friedman").row(0, named=True)
    assert friedman["p_value"] == pytest.approx(plm.tests.friedman(table).p_value)
    for row in of_tests.filter(test="wilcoxon").iter_rows(named=True):
        ours = plm.tests.wilcoxon(table[row["model"]], table["C4.5"])
        assert row["p_value"] == pytest.approx(ours.p_value)
