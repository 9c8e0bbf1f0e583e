"""Compare two runs case by case: what became slower, faulty or costlier, and what else changed.

- pairs: match the cases of one run with those of the other
- machines: decide whether times may be compared at all; list other differences
- times: each time's change with its interval, and the verdict it allows
- regression_metrics: the counters that indicate a cost, and which direction is worse
- sides: saved baselines, and a commit's kernels in one matrix with the current ones
- lines: the source line that a counter's change comes from
- identity: whether two sides are the same to a GPU, or are made from the same files
- run_level: what a run changes in all cases together
- uncompared: changes that were not compared exactly, and unchecked budgets
- changes: all of this for one pair
- judgement: all of it for two runs, and whether a gate opens
"""

from harness.comparison.changes import Change
from harness.comparison.judgement import Judgement, judge
from harness.comparison.pairs import Pair, Side

__all__ = ["Change", "Judgement", "Pair", "Side", "judge"]
