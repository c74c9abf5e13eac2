"""The commented tieout.yaml that `tieout init` writes."""

from __future__ import annotations

from pathlib import Path

from tieout.config.secrets import private_file
from tieout.errors import UsageError

TEMPLATE = """\
# Tieout moves data between databases and proves that it arrived.
# ${VAR} is an environment variable, ${VAR:-default} one with a default, and $$ a dollar.
# 'tieout config check' reports every problem of this file.

# Where Tieout stores jobs, differences and failures. A team shares a postgresql:// or mysql:// database.
meta: sqlite:///.tieout/meta.db

# redact_values: true           # keep row values out of it, of reports and of logs; keys and hashes remain

spark:
  master: "local[*]"            # or yarn, k8s://..., spark://host:7077
  conf: {}                      # Spark's own settings: {spark.driver.memory: 4g}

# Databases and lakes, by name.
#   mysql://user:password@host:3306/database        MySQL, MariaDB, TiDB  (?ssl_mode=verify-ca&ssl_ca=FILE)
#   postgresql://user:password@host:5432/database   ?schema=public        (?sslmode=verify-full&sslrootcert=FILE)
#   sqlite:///file.db, sqlite:////absolute/file.db
#   lake:///folder?format=parquet                   delta, iceberg where the session has them
#   spark:///catalog.schema                         tables of the Spark session
endpoints:
  old:
    url: mysql://${OLD_USER}:${OLD_PASSWORD}@localhost/shop
    connections: 8              # the most that a verification opens at once
  new:
    url: postgresql://${NEW_USER}:${NEW_PASSWORD}@localhost/shop?schema=public

# What to verify and, with 'move: {}', to move, by name: 'tieout verify shop', 'tieout run shop'.
tasks:
  shop:
    source: old
    target: new

    # Which tables (default: all).
    tables:
      - from: shop.orders
        to: public.orders
        # where: "region = 'eu'"            # SQL that chooses rows; source_where, target_where: for one side
        # key: [id]                         # instead of the primary key
        # columns: {total: price * qty}     # SQL for a column; or a list, [id, qty]: only these
        # exclude_columns: [updated_at]
        # tolerance: {weight: 0.001, ratio: 1e-9 relative}
      - from: shop.*
        exclude: [shop.audit]

    # How tables are verified. These are the defaults.
    options:
      strategy: auto            # native | pushdown | pull
      hash_bits: 64             # or 128
      limit: 1000               # list at most this many differences; null lists all
      chunk_seconds: 1s         # how long reading a chunk should take
      # chunk_rows: 100000      # the size of a chunk, instead
      # max_rows_per_second: 50000
      recheck_after: 2s         # how long to wait before rechecking a difference in a live database
      recheck_times: 3          # how many times to recheck it

    # move: {}                  # 'tieout run shop' moves the tables, and 'tieout verify shop' checks them as moved
    # The strongest that the pair can give, unless you choose a weaker one; these mean "moved", too:
    # delivery: at-least-once   # at-most-once | exactly-once
    # consistency: table        # row | transaction
"""


def write_template(path: Path, force: bool = False) -> None:
    """Writes the template; UsageError if the file exists, unless forced."""
    if path.exists() and not force:
        raise UsageError(f"{path} exists already", "give --force to overwrite it")
    try:
        with private_file(path) as file:
            file.write(TEMPLATE)
    except OSError as error:
        raise UsageError(f"can't write {path}: {error.strerror}") from None
