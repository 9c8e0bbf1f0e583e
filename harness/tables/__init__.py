"""Load a run's folder as pandas tables.

Only the journal and run.json are read, so no GPU is needed:

    run = harness.load("reports/latest")
    run.results                # one row per case and cache state, as in results.csv
    run.counters               # one row per case, step and metric, as in counters.csv
    run.ladder("reduce_sum")   # one row per variant at its best launch shape, best first
"""

from harness.tables.files import load, write
from harness.tables.run import Run
from harness.tables.run_records import NCU_DURATION

__all__ = ["NCU_DURATION", "Run", "load", "write"]
