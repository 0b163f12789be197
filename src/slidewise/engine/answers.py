"""What every way of running shares: answers, an output's inputs as a kernel takes them, one sweep, threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slidewise.engine.columns import Column, as_objects, to_arrow
from slidewise.engine.joint import members_of
from slidewise.engine.output import Output
from slidewise.errors import bad
from slidewise.kernels.spans import validity
from slidewise.swag.bank import Bank
from slidewise.swag.structure import NEVER, sweep_of


@dataclass(frozen=True)
class Answers:
    """One output's answers: arrays per field, or a list of objects, with validity."""

    output: Output
    outs: tuple[Any, ...]
    ok: Any


@dataclass(frozen=True)
class Rows:
    """Which window each answer is, where there is a row per window: its run, and its bounds in order or row numbers.

    `starts` is None where several windows end together (engine/composite.py). `fragments` numbers the parts of a frame
    that was closed by force; None where none can be. `closed` says of frames whether an event closed them, or the rows
    just ended.
    """

    run: Any
    starts: Any
    ends: Any
    fragments: Any = None
    closed: Any = None

    def take(self, places: Any) -> Rows:
        """These rows, in this order."""
        fragments = None if self.fragments is None else self.fragments[places]
        closed = None if self.closed is None else self.closed[places]
        starts = None if self.starts is None else self.starts[places]
        return Rows(self.run[places], starts, self.ends[places], fragments, closed)


def apart(
    outputs: Sequence[Output], work: list[tuple[Output, tuple[Output, ...]]], answers: list[Answers]
) -> list[Answers]:
    """The answers of each output by itself, in this order."""
    found = {}
    for (joint, members), answer in zip(work, answers, strict=True):
        for member, (outs, ok) in zip(members, members_of(joint, answer.outs, answer.ok), strict=True):
            found[id(member)] = Answers(member, outs, ok)
    return [found[id(output)] for output in outputs]


def inputs_of(output: Output, columns: dict[str, Column]) -> tuple[tuple[Any, ...], Any]:
    """An output's input arrays (lists in object mode) and the validity of their rows, None if all are valid."""
    values, valid = numbers_of(output, columns)
    if output.ops.compiled:
        return values, valid
    objects = [as_objects(Column(part, valid), arrow) for part, arrow in zip(values, output.types, strict=True)]
    return tuple(column.values for column in objects), valid


def numbers_of(output: Output, columns: dict[str, Column]) -> tuple[tuple[Any, ...], Any]:
    """An output's input columns as they entered, and the validity of their rows, None if all are valid."""
    chosen = [columns[name] for name in output.inputs]
    valid = None if output.mask is None else columns[output.mask].values
    for column in chosen:
        if column.valid is not None:
            valid = column.valid if valid is None else valid & column.valid
    return tuple(column.values for column in chosen), valid


def parts_of(output: Output, columns: dict[str, Column], first: int, last: int) -> dict[str, Column]:
    """Rows `[first, last)` of the columns that an output reads."""
    return {name: columns[name].part(first, last) for name in output.needs}


def sweep(
    output: Output,
    bank: Bank | None,
    capacity: int,
    inputs: tuple[tuple[Any, ...], Any],
    lo: Any,
    hi: Any,
    runs: Any,
    outs: tuple[Any, ...],
    ok: Any,
    *,
    answer: bool = True,
) -> None:
    """Drive the output's algorithm over these bounds; without a bank, in a fresh one with a single slot.

    `answer` False moves the windows and lowers nothing.
    """
    ops, structure = output.ops, output.choice.structure
    if bank is None:
        bank = structure.bank(ops)
        bank.add(capacity)
    values, valid = inputs
    has_nulls = valid is not None
    valid = validity(valid)
    if not ops.compiled:
        lo, hi, runs, valid = lo.tolist(), hi.tolist(), runs.tolist(), valid.tolist()
    kernel = sweep_of(structure, ops)
    min_rows = output.window.min_rows if answer else NEVER
    kernel(bank.cols, bank.regs, values, valid, has_nulls, lo, hi, runs, min_rows, outs, ok)


def run_jobs(jobs: list[Callable[[], None]], threads: int | None) -> None:
    """All jobs, on `threads` threads (None: all cores); the first error is raised."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise bad("threads", threads, "an integer of at least 1, or None for all cores")
    workers = min(len(jobs), threads if threads is not None else len(os.sched_getaffinity(0)))
    if workers <= 1:
        for job in jobs:
            job()
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()


def with_answers(table: pa.Table, answers: list[Answers]) -> pa.Table:
    """The rows, and a column per output."""
    for answer in answers:
        table = table.append_column(answer.output.name, answers_to_arrow(answer))
    return table


def answers_to_arrow(answer: Answers) -> pa.Array:
    """One output's answers as an Arrow array of its planned type."""
    if isinstance(answer.outs[0], list):
        values = [value if good else None for value, good in zip(answer.outs[0], answer.ok.tolist(), strict=True)]
        return to_arrow((values,), None, answer.output.arrow)
    return to_arrow(answer.outs, answer.ok, answer.output.arrow)
