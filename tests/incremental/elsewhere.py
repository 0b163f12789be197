"""A job on a cluster of two workers in processes of their own, or over Connect; says whether its answers are right.

python -m tests.incremental.elsewhere cluster|connect|spark://... FOLDER [PACKAGE.zip]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from slidewise import incremental as inc
from tests.incremental.windows import QUERIES, assert_answers, assert_nothing_leaked, frame
from tests.spark.elsewhere import session


def main(where: str, place: Path) -> None:
    sys.argv = [sys.argv[0], where, *sys.argv[3:]]  # where the session looks for the package
    spark = session(where)
    done = {}
    for name, query in QUERIES.items():
        places = [place / name / "a", place / name / "b"]
        job = inc.Job(spark, state=[str(one) for one in places], query=query, window=inc.splits(3))
        job.advance({f"s{k}": frame(spark, k) for k in range(3)})
        job.prepare()
        for number in (3, 4):
            assert_answers(job.advance({f"s{number}": frame(spark, number)}), query, range(number - 2, number + 1))
        assert_nothing_leaked(places)
        done[name] = job.report().built
    sys.stdout.write(json.dumps(done) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
