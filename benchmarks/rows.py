"""The rows that every case reads: made once, the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

SEED = 20_000_131
COLUMNS = ("id", "qty", "serial", "price", "weight", "changed_at", "name", "status")

_WORDS = ("Ångström & Söhne", "Blue Whale", "caffè", "Doe, Jane", "Łódź works", "north wind", "señal", "Zebra 7")
_STATES = ("new", "paid", "packed", "shipped", "returned", "cancelled", "on hold")


def make_rows(count: int) -> pl.DataFrame:
    """`count` rows in the order of their key.

    The keys' density falls tenfold from the first to the last, and no two of them are neighbours. `qty` is a
    permutation, so that `qty % 100 = 0` is one row in a hundred, anywhere. One name in ten is NULL.
    """
    random = np.random.default_rng(SEED)
    gaps = random.integers(2, 6 + np.arange(count) * 54 // count)
    serial = random.integers(-(2**62), 2**62, count)
    words = pl.Series(_WORDS)[random.integers(0, len(_WORDS), count)]
    names = pl.select(pl.format("{} no. {} / {}", words, pl.Series(serial).abs() % 99_991, pl.Series(serial)))
    return pl.DataFrame(
        {
            "id": np.cumsum(gaps) + 1_000,
            "qty": (random.permutation(count) - count // 2).astype(np.int32),
            "serial": serial,
            "price": pl.from_arrow(_decimals(random.integers(-(10**9), 10**9, count), scale=2)),
            "weight": _doubles(random, count),
            "changed_at": pl.Series(random.integers(10**15, 17 * 10**14, count)).cast(pl.Datetime("us")),
            "name": pl.select(pl.when(pl.Series(random.random(count) >= 0.1)).then(names.to_series())).to_series(),
            "status": pl.Series(_STATES)[random.integers(0, len(_STATES), count)],
        }
    ).select(COLUMNS)


def write_text(rows: pl.DataFrame, file: Path) -> None:
    r"""Tabs, and \N for NULL: what COPY and LOAD DATA take. Doubles have all the digits that tell them apart."""
    rows.write_csv(
        file,
        include_header=False,
        separator="\t",
        null_value="\\N",
        quote_style="never",
        datetime_format="%Y-%m-%d %H:%M:%S%.6f",
    )


def write_parquet(rows: pl.DataFrame, directories: Sequence[Path], files: int = 4) -> None:
    """The same rows into each directory."""
    size = -(-len(rows) // files)
    for directory in directories:
        directory.mkdir(parents=True)
        for number in range(files):
            rows[number * size : (number + 1) * size].write_parquet(directory / f"part-{number}.parquet")


def _decimals(unscaled: npt.NDArray[np.int64], scale: int) -> pa.Array:
    """Decimals from their unscaled integers: Arrow keeps them as 128 bits, low word first."""
    words = np.column_stack((unscaled, unscaled >> 63))
    return pa.Array.from_buffers(pa.decimal128(12, scale), len(unscaled), [None, pa.py_buffer(words)])


def _doubles(random: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """Doubles of 53 random bits, none of them close to the middle between two numbers of six decimals.

    reladiff rounds them there on MySQL, PostgreSQL rounds to fifteen digits first, and a row in a million
    would differ between the two for that alone.
    """
    values = random.standard_normal(count) * 1_000
    distance = np.abs(values * 1e6 % 1 - 0.5)
    return np.where(distance < 1e-3, values + 2e-7, values)
