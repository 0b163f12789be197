"""The integer registers of one window, shared by every algorithm and loop.

    register   0      1      2      3      4
               BASE   MASK   HEAD   TAIL   LAST    then the algorithm's own, from OWN on

A window's partials lie in a ring: position p is kept at place ``BASE + (p & MASK)``. Positions only grow: HEAD is the
oldest element's, TAIL the next free one's, so ``TAIL - HEAD`` is the length and growing a ring moves partials but no
register. LAST is the position of the newest element that held a value (not null), so a window has a value iff
``LAST >= HEAD``. An algorithm's extra partials lie just below BASE, at ``BASE - 1``, ``BASE - 2``, ...

An algorithm that derives partials from its elements (scratch planes, swag/bank.py) has MOVED as its first own register:
set whenever its ring was moved, cleared by the algorithm when it has built them anew.
"""

BASE, MASK, HEAD, TAIL, LAST = range(5)
OWN = 5
MOVED = OWN
