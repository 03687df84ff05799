import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plmetrics.core.errors import DataError
from plmetrics.core.hashing import FOLD_SALT, mix_int, unit_hash
from plmetrics.features.splits.hash_parts import HASH, KeyHash, deal

PINNED = [7_049_960_387_482_146_938, 15_341_628_177_053_006_955, 268_659_573_921_794_545]
IDS = pl.DataFrame({"id": range(5000)})


def hashes(frame: pl.DataFrame, columns: list[str], seed: int = 0) -> pl.Series:
    return KeyHash.of_columns(columns, frame.schema, seed).with_hash(frame.lazy()).collect()[HASH]


def test_plans_of_keys_of_many_columns_are_small() -> None:
    """Each column adds as much to the plan, which is read anew with every optimisation."""
    frame = pl.DataFrame({name: [1, 2] for name in "abcd"})
    sizes = []
    for number in (2, 3, 4):
        key = KeyHash.of_columns(list("abcd")[:number], frame.schema, 0)
        sizes.append(len(key.with_hash(frame.lazy()).explain(optimized=False)))
    assert sizes[2] - sizes[1] < 1.2 * (sizes[1] - sizes[0])


def test_a_hash_of_columns_is_that_of_whole_numbers_mixed_one_by_one() -> None:
    word = 1 << 64
    frame = pl.DataFrame({"a": [3, -8], "b": [7, 0], "c": [1, 2]})
    salt = FOLD_SALT
    for row, held in zip(frame.rows(), hashes(frame, ["a", "b", "c"], seed=5), strict=True):
        state = mix_int(mix_int(6) ^ salt)
        for value in row:
            state = mix_int(mix_int((value % word) ^ salt) ^ state)
        assert held == state


def test_the_hash_of_numbers_is_pinned() -> None:
    assert hashes(pl.DataFrame({"id": [0, 1, -1]}), ["id"]).to_list() == PINNED


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.UInt64, pl.Int64, pl.Int128, pl.UInt128])
def test_whole_numbers_of_any_width_are_one_key(dtype: type[pl.DataType]) -> None:
    """One long key makes a column of a csv file 128 bits wide: the others stay what they are."""
    frame = pl.DataFrame({"id": [0, 1, 100]})
    assert hashes(frame.cast(dtype), ["id"]).equals(hashes(frame, ["id"]))


def test_keys_of_128_bits() -> None:
    keys = [-5, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 2**100, None]
    wide = hashes(pl.DataFrame({"id": pl.Series(keys, dtype=pl.Int128)}), ["id"])
    assert wide.n_unique() == len(keys)
    assert wide[0] == hashes(pl.DataFrame({"id": [-5]}), ["id"])[0]
    unsigned = hashes(pl.DataFrame({"id": pl.Series(keys[1:3], dtype=pl.UInt64)}), ["id"])
    assert wide[1:3].equals(unsigned)


def test_seeds_and_blocks_are_unrelated() -> None:
    zero, one = hashes(IDS, ["id"]) % 5, hashes(IDS, ["id"], seed=1) % 5
    blocks = IDS.select(unit_hash(pl.col("id"), pl.Int64()))["id"] % 5
    for other in (one, blocks):
        same = (zero == other).mean()
        assert isinstance(same, float)
        assert 0.17 < same < 0.23


def test_nulls_are_a_value_and_columns_have_an_order() -> None:
    frame = pl.DataFrame({"a": [1, None, 2, None], "b": [2, 2, 1, 2]})
    held = hashes(frame, ["a", "b"])
    assert held.null_count() == 0
    assert held[1] == held[3]
    assert held[0] != held[2]


@pytest.mark.parametrize(
    "values",
    [["a", "b"], [True, False], [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]],
    ids=["text", "boolean", "date"],
)
def test_other_keys(values: list[object]) -> None:
    assert hashes(pl.DataFrame({"id": values}), ["id"]).n_unique() == 2


@pytest.mark.parametrize("values", [[0.5], [[1]], [b"x"]], ids=["float", "list", "binary"])
def test_what_is_no_key_is_refused(values: list[object]) -> None:
    with pytest.raises(DataError, match="a key must be a whole number, text, date or boolean"):
        hashes(pl.DataFrame({"id": values}), ["id"])


STRATA = st.lists(st.integers(0, 60), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(STRATA, st.integers(2, 9))
def test_equal_shares_differ_by_one_in_every_stratum_and_overall(strata: list[int], folds: int) -> None:
    dealt = deal(np.array(strata), [1 / folds] * folds)
    assert dealt.sum(axis=1).tolist() == strata
    assert np.ptp(dealt, axis=1).max() <= 1
    assert np.ptp(dealt.sum(axis=0)) <= 1


@settings(max_examples=60, deadline=None)
@given(STRATA, st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_any_shares_add_up_and_are_met_overall(strata: list[int], parts: list[int]) -> None:
    shares = [part / sum(parts) for part in parts]
    dealt = deal(np.array(strata), shares)
    assert dealt.sum(axis=1).tolist() == strata
    assert dealt.min() >= 0
    wanted = sum(strata) * np.array(shares)
    assert np.abs(dealt.sum(axis=0) - wanted).max() < 1 + 1e-6
    assert (dealt >= np.floor(np.outer(strata, shares) - 1e-6)).all()


def test_nothing_to_deal() -> None:
    assert deal(np.zeros(0, dtype=np.int64), [0.5, 0.5]).shape == (0, 2)
    assert deal(np.array([0, 1]), [0.5, 0.5]).tolist() == [[0, 0], [1, 0]]
