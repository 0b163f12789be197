"""Tables: Arrow, pandas and Polars frames, eager or lazy; the same kind comes back with new columns, index kept.

Narwhals tells the kinds apart and reads them; each kind has its own way to take a result, since a null is not the same
thing in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa

from slidewise.engine.plan import END, START
from slidewise.errors import ArgumentError
from slidewise.tables.run import Result


class Frame:
    """An eager or lazy table of any kind, read through Arrow."""

    def __init__(self, data: Any) -> None:
        self.lazy = False
        self.batch = isinstance(data, pa.RecordBatch)
        if self.batch:
            data = pa.Table.from_batches([data])
        _refuse_repeated(data)
        frame = nw.from_native(data)
        if isinstance(frame, nw.LazyFrame):
            self.lazy = True
            frame = frame.collect()
        self.frame: nw.DataFrame[Any] = frame
        self._arrow: dict[str, pa.ChunkedArray] = {}
        self._levels: dict[str, Any] = {}
        self.types = self._types([name for name in frame.columns if isinstance(name, str)])

    def __len__(self) -> int:
        return len(self.frame)

    def named(self, by: object, order: object, window: object) -> tuple[Any, Mapping[str, pa.DataType | None]]:
        """What rows are ordered by, and the types of all that can be named: in pandas, levels of the index too."""
        if not self._is_pandas():
            return order, self.types
        from slidewise.tables.pandas_index import level, order_in

        index = self.frame.to_native().index
        order = order_in(index, window) if order is None else order
        for given in (by, order):
            for name in given if isinstance(given, (list, tuple)) else [given]:
                if isinstance(name, str) and name not in self.types:
                    found = level(index, name)
                    self._levels |= {} if found is None else {name: found}
        return order, _LazyTypes(self, [*self.types, *self._levels]) if self._levels else self.types

    def column(self, name: str) -> pa.ChunkedArray:
        """A column as Arrow; no copy where the kind allows it."""
        if name not in self._arrow:
            self._arrow[name] = self._read(name)
        return self._arrow[name]

    def with_results(self, results: list[Result]) -> Any:
        """The same table with the results as new columns."""
        if self._is_pandas():
            native = self.frame.to_native()
            return native.assign(**{result.name: self._series(result).set_axis(native.index) for result in results})
        return self._native_with({result.name: result.to_arrow() for result in results})

    def from_windows(self, windows: pa.Table, results: list[Result], order: Sequence[str]) -> Any:
        """A new table of the same kind: keys and windows, then the results; `order` named the times, if any."""
        if self._is_pandas():
            return self._pandas_windows(windows, results, order)
        table = windows
        for result in results:
            table = table.append_column(result.name, result.to_arrow())
        if self.frame.implementation.is_polars():
            import polars as pl

            made = pl.DataFrame(pl.from_arrow(table))
            had = self.frame.to_native().schema
            made = made.cast({name: had[name] for name in windows.column_names if name in self._keys(windows)})
            return made.lazy() if self.lazy else made
        return self._back(table)

    def _series(self, result: Result) -> Any:
        from slidewise.tables.pandas_nulls import to_series

        return to_series(result.to_arrow(), self._dtype(result.inputs))

    def _pandas_windows(self, windows: pa.Table, results: list[Result], order: Sequence[str]) -> Any:
        import pandas as pd

        from slidewise.tables.pandas_nulls import to_series

        columns = {}
        for name in windows.column_names:
            if name in (START, END):
                columns[name] = to_series(windows.column(name), self._dtype(order))
            elif name in self._keys(windows):
                columns[name] = to_series(windows.column(name), self._dtype([name])).astype(self._dtype([name]))
            else:
                columns[name] = to_series(windows.column(name), None)
        return pd.DataFrame({**columns, **{result.name: self._series(result) for result in results}})

    def _keys(self, windows: pa.Table) -> list[str]:
        """The keys of a table of windows: they come before what says which window it is."""
        names: list[str] = windows.column_names
        return names[: names.index(START if START in names else END)]

    def _dtype(self, names: Sequence[str]) -> Any:
        """The pandas dtype of the first of these columns; None if there is none."""
        return self._pandas_column(names[0]).dtype if names else None

    def _pandas_column(self, name: str) -> Any:
        return self._levels[name] if name in self._levels else self.frame.to_native()[name]

    def _native_with(self, new: dict[str, pa.Array]) -> Any:
        if self.frame.implementation.is_polars():
            import polars as pl

            made = self.frame.to_native().with_columns(
                [pl.Series(name, pl.from_arrow(one)) for name, one in new.items()]
            )
            return made.lazy() if self.lazy else made
        table: pa.Table = self.frame.to_native()
        for name, one in new.items():
            table = table.append_column(name, one)
        return self._back(table)

    def _back(self, table: pa.Table) -> pa.Table | pa.RecordBatch:
        if not self.batch:
            return table
        parts = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(parts, schema=table.schema)

    def _is_pandas(self) -> bool:
        return bool(self.frame.implementation.is_pandas())

    def _read(self, name: str) -> pa.ChunkedArray:
        if self._is_pandas():
            from slidewise.tables.pandas_nulls import from_series

            return from_series(self._pandas_column(name))
        column: pa.ChunkedArray = self.frame.select(name).to_arrow().column(name)
        if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
            column = column.cast(pa.string()) if column.nbytes < 2**31 - 1 else column.cast(pa.large_string())
        if pa.types.is_binary_view(column.type):
            column = column.cast(pa.large_binary())
        return column

    def _types(self, names: list[str]) -> dict[str, pa.DataType | None]:
        if isinstance(self.frame.to_native(), pa.Table):
            return {name: self.frame.to_native().schema.field(name).type for name in names}
        if self._is_pandas():
            return _LazyTypes(self, names)
        empty = self.frame.head(0).to_arrow()
        return {name: empty.schema.field(name).type for name in names}


def _refuse_repeated(data: Any) -> None:
    """Polars has none, narwhals would say it in its own words."""
    if isinstance(data, pa.Table):
        names = data.column_names
    else:
        names = list(data.columns) if type(data).__module__.startswith("pandas") else []
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ArgumentError(f"data: has more than one column named {repeated[0]!r}; expected each name once")


class _LazyTypes(dict[str, pa.DataType | None]):
    """Types found when asked for: a pandas object column says its type only once it is read."""

    def __init__(self, frame: Frame, names: list[str]) -> None:
        super().__init__(dict.fromkeys(names))
        self._frame = frame
        self._known: set[str] = set()

    def __getitem__(self, name: str) -> pa.DataType | None:
        if name in self and name not in self._known:
            self[name] = self._frame.column(name).type
            self._known.add(name)
        return super().__getitem__(name)
