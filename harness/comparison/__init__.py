"""Two runs compared, case by case: what became slower, faulty or costlier, and what else changed.

pairs        which case of the one stands beside which of the other
machines     whether their times may be compared at all, and what else differs around them
times        the change of each time with its interval, and what it allows to be said
gauges       the counters that say something of a cost, and which way is worse
beside       one matrix that has a commit's kernels beside today's
commits      a commit's files, taken out of git
baselines    runs that are kept by a name
lines        the line of source that a counter's change comes from
identity     whether two sides are the same to a GPU, or by all that they are made from
uncompared   what changed and was not compared exactly, and budgets that nothing checked
changes      all of this for one pair
judgement    all of it for two runs, and whether a gate opens
data         the judgement as JSON and as JUnit XML
"""

from harness.comparison.changes import Change
from harness.comparison.judgement import Judgement, judge
from harness.comparison.pairs import Pair, Side

__all__ = ["Change", "Judgement", "Pair", "Side", "judge"]
