"""Many queries over one stream: sliced once, aggregated from shared partials, each answered where it is due."""

from slidewise.sharing.daba import DabaWindows
from slidewise.sharing.factor import FactorPlan
from slidewise.sharing.live import FINALS, Answers, SharedWindows
from slidewise.sharing.plan import Edge, SharedPlan
from slidewise.sharing.query import Query
from slidewise.sharing.slicing import SLICINGS, Cutty, Pairs, Panes

__all__ = [
    "FINALS",
    "FactorPlan",
    "SLICINGS",
    "Answers",
    "Cutty",
    "DabaWindows",
    "Edge",
    "Pairs",
    "Panes",
    "Query",
    "SharedPlan",
    "SharedWindows",
]
