"""What a worker does with some keys: answers equal those of all rows, and keys that got nothing new cost nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise import incremental as inc
from slidewise.incremental.files import SRC
from slidewise.incremental.mark import mark_of
from slidewise.incremental.query import Bound
from slidewise.incremental.sheet import ANSWERED, Sheet, Side, answers_of, node_schema, whole_keys
from slidewise.monoids.codec import decode_plain, encode_plain

MARK = "mark"
calls: Counter[str] = Counter()


def counted(name: str, function: Any) -> Any:
    def call(*given: Any) -> Any:
        calls[name] += 1
        return function(*given)

    return call


TEXTS = sw.Monoid(
    identity="",
    combine=counted("combine", lambda a, b: a + b),
    lower=counted("lower", lambda text: text or None),
    codec=(counted("encode", encode_plain), counted("decode", decode_plain)),
    name="texts",
    result="string",
)
QUERY = inc.group_by("k", order="t").aggregate(sw.aggregate(TEXTS, "s"), sw.sum("n"), sw.median("n"), sw.last("s"))
TYPES = {"k": pa.int64(), "t": pa.int64(), "s": pa.string(), "n": pa.int64()}
Rows = list[tuple[int | None, str | None, int | None]]


def bound() -> Bound:
    return QUERY.bind(TYPES)


def rows_of(rows: Rows, src: int) -> pa.Table:
    """Rows of a new split, in order."""
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else ([], [], [])
    k, s, n = (list(column) for column in columns)
    arrays = [pa.array(k, pa.int64()), pa.array(range(len(k)), pa.int64())]
    arrays += [pa.array(s, pa.string()), pa.array(n, pa.int64())]
    return pa.table([pa.array([src] * len(k), pa.int32()), *arrays], names=[SRC, "k", "t", "s", "n"])


def sorted_together(*tables: pa.Table) -> pa.Table:
    both = pa.concat_tables(tables, promote_options="default")
    order = [("k", "ascending"), (SRC, "ascending"), *([("t", "ascending")] if "t" in both.column_names else [])]
    return both.take(pa.compute.sort_indices(both, sort_keys=order))


def slid(root: pa.Table | None, rows: Rows) -> pa.Table:
    """The next root of a window that only grows: the last one and new rows."""
    kept = [] if root is None else [root.add_column(0, SRC, pa.array([1] * len(root), pa.int32()))]
    schema = node_schema(bound(), answers=True)
    found = [schema.empty_table()]
    for table in whole_keys(sorted_together(rows_of(rows, 0), *kept).to_batches(max_chunksize=3), ["k"]):
        sheet = Sheet(bound(), table, (True, False)[: 1 + len(kept)])
        new: Side = sheet.sources[0]
        node = sheet.sources[1].merged(new) if kept else new
        found.append(pa.Table.from_batches([sheet.rows_of(node, schema, MARK)]))
    return pa.concat_tables(found)


def answers(root: pa.Table) -> list[dict[str, Any]]:
    columns = answers_of(bound(), root, MARK)
    return pa.table([root.column("k"), *columns], names=["k", "texts", "sum", "median", "last"]).to_pylist()


def expected(rows: Rows) -> list[dict[str, Any]]:
    """By the engine for tables, over all rows at once."""
    table = rows_of(rows, 0).drop_columns(SRC).set_column(1, "t", pa.array(range(len(rows)), pa.int64()))
    found = sw.slide(table, list(QUERY.aggregates), sw.expanding(), by="k", order="t")
    names = ["texts", "sum", "median", "last"]
    inside = [one.name for one in QUERY.aggregates]
    last = {row["k"]: [row[name] for name in inside] for row in found.to_pylist()}
    ranked = sorted(last, key=lambda k: (k is None, k or 0))
    return [{"k": k, **dict(zip(names, last[k], strict=True))} for k in ranked]


ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 6)),
        st.one_of(st.none(), st.sampled_from(["", "a", "b", "ä"])),
        st.one_of(st.none(), st.integers(-(2**31), 2**31)),
    ),
    max_size=12,
)


@given(st.lists(ROWS, max_size=5))
def test_every_root_has_the_answers_of_all_rows(slides: list[Rows]) -> None:
    root, rows = None, []
    for new in slides:
        root, rows = slid(root, new), rows + new
        assert answers(root) == (expected(rows) if rows else [])
        assert root.column(ANSWERED).to_pylist() == [MARK] * root.num_rows
        without = root.drop_columns([ANSWERED])  # lowered now, from the partials
        assert answers(without) == answers(root)


def test_keys_that_got_nothing_new_are_neither_opened_nor_lowered() -> None:
    root = slid(None, [(k, f"{k};", k) for k in range(100)])
    calls.clear()
    root = slid(root, [(7, "x", 1), (200, "y", 2)])
    # two new keys are folded from their rows, one of them is combined with what there was
    assert calls == {"combine": 3, "decode": 1, "encode": 2, "lower": 2}
    calls.clear()
    assert answers(root)[7] == {"k": 7, "texts": "7;x", "sum": 8, "median": 4.0, "last": "x"}
    assert not calls


def test_a_root_without_answers_is_lowered_once() -> None:
    """As a state has it that was written before answers were kept, or with another `lower`."""
    root = slid(None, [(k, f"{k};", k) for k in range(10)])
    bare = root.set_column(root.column_names.index(ANSWERED), ANSWERED, pa.array([None, "another"] * 5))
    calls.clear()
    assert answers(bare) == answers(root)
    assert calls["lower"] == 10
    calls.clear()
    root = slid(bare, [(3, "x", 1)])
    assert calls["lower"] == 10
    assert answers(root)[3]["texts"] == "3;x"


def test_nodes_of_other_windows_have_no_room_for_answers() -> None:
    assert ANSWERED not in node_schema(bound(), answers=False).names
    with pytest.raises(KeyError):
        node_schema(bound(), answers=False).field("__slidewise_answer0")


def of(lower: Any, name: str = "m", result: str = "int64") -> str | None:
    monoid = sw.Monoid(identity=0, combine=lambda a, b: a + b, lower=lower, name=name, result=result, commutative=True)
    query = inc.group_by("k").aggregate(sw.aggregate(monoid, "n"))
    return mark_of(query, query.bind(TYPES))


def test_the_mark_follows_what_lowers() -> None:
    def rounded(digits: int, *, up: int = 0) -> Any:
        def lower(total: int, *, more: int = up) -> int:
            return round(total, -digits) + more

        return lower

    assert of(rounded(1)) == of(rounded(1)) is not None
    assert len({of(rounded(1)), of(rounded(2)), of(rounded(1, up=3)), of(None), of(None, result="float64")}) == 5
    table = object()
    assert of(lambda total: hash(table)) is None  # nobody can say whether that is still the same


@given(
    keys=st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=30).map(lambda some: sorted(some, key=repr)),
    size=st.integers(1, 7),
    least=st.integers(0, 12),
)
def test_tables_of_whole_keys_are_as_long_as_asked(keys: list[int | None], size: int, least: int) -> None:
    rows = pa.table({"k": pa.array(keys, pa.int64())})
    found = [one.column("k").to_pylist() for one in whole_keys(rows.to_batches(max_chunksize=size), ["k"], least)]
    assert [key for some in found for key in some] == keys
    assert len({key for some in found for key in set(some)}) == sum(len(set(some)) for some in found)
    assert all(len(some) + size >= least for some in found[:-1])  # the key that goes on stays for the next
