"""What every store promises, on every store: batches, ranges, order, reopening, claims."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from slidewise import store as stores
from slidewise.errors import ArgumentError, StoreError, StoreLocked
from slidewise.store import Store, keys

WINDOWS = ("a", "a/b", "ä b", "{x}", "a0")
EVERYTHING = (b"\0", b"\xff" * 9)

some_keys = st.builds(keys.page, st.shared(st.sampled_from(WINDOWS), key="w"), st.integers(0, 2), st.integers(0, 300))
values = st.binary(max_size=40) | st.integers(0, 9000).map(lambda n: b"\xfe\0" * n)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with stores.open(url) as opened:
        yield opened


class Model(RuleBasedStateMachine):
    """A store against a dict."""

    url = ""

    @initialize()
    def open(self) -> None:
        self.store = stores.open(self.url)
        self.store.delete_range(*EVERYTHING)
        self.model: dict[bytes, bytes] = {}

    def teardown(self) -> None:
        self.store.close()

    @rule(
        items=st.dictionaries(some_keys, values, max_size=6), gone=st.lists(some_keys, max_size=4), hard=st.booleans()
    )
    def put(self, items: dict[bytes, bytes], gone: list[bytes], hard: bool) -> None:
        self.store.put_many(items, gone, durable=hard)
        for key in gone:
            self.model.pop(key, None)
        self.model.update(items)

    @rule(
        window=st.sampled_from(WINDOWS),
        level=st.integers(0, 2),
        ends=st.tuples(st.integers(0, 300), st.integers(0, 300)),
    )
    def delete_pages(self, window: str, level: int, ends: tuple[int, int]) -> None:
        self.drop(*keys.page_range(window, level, *ends))

    @rule(window=st.sampled_from(WINDOWS))
    def delete_window(self, window: str) -> None:
        self.drop(*keys.window_range(window))

    @rule(first=st.binary(max_size=6), last=st.binary(max_size=6))
    def delete_any(self, first: bytes, last: bytes) -> None:
        self.drop(b"w/" + first, b"w/" + last)

    def drop(self, first: bytes, last: bytes) -> None:
        self.store.delete_range(first, last)
        self.model = {key: value for key, value in self.model.items() if not first <= key < last}

    @rule(asked=st.lists(some_keys, max_size=8))
    def get(self, asked: list[bytes]) -> None:
        asked += [*self.model][:3]
        assert self.store.get_many(asked) == [self.model.get(key) for key in asked]

    @rule(window=st.sampled_from(WINDOWS), level=st.integers(0, 2), first=st.integers(0, 300))
    def scan_pages(self, window: str, level: int, first: int) -> None:
        low, high = keys.page_range(window, level, first)
        wanted = sorted((key, value) for key, value in self.model.items() if low <= key < high)
        assert list(self.store.scan(low, high)) == wanted
        assert list(self.store.sizes(low, high)) == [(key, len(value)) for key, value in wanted]

    @rule()
    def reopen(self) -> None:
        self.store.sync()
        self.store.close()
        self.store = stores.open(self.url, create=False)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert list(self.store.scan(*EVERYTHING)) == sorted(self.model.items())


def test_a_store_is_a_sorted_dict(url: str) -> None:
    machine = type("Machine", (Model,), {"url": url})
    run_state_machine_as_test(machine, settings=settings(max_examples=25, stateful_step_count=20, deadline=None))


def test_more_keys_than_a_piece(store: Store) -> None:
    items = {keys.page("w", 0, k): b"%d" % k for k in range(700)}
    store.put_many(items)
    assert list(store.scan(*keys.window_range("w"))) == list(items.items())
    store.delete_range(*keys.page_range("w", 0, 10, 690))
    assert [int(value) for _, value in store.scan(*keys.window_range("w"))] == [*range(10), *range(690, 700)]


def test_a_scan_goes_on_while_others_write(store: Store) -> None:
    store.put_many({keys.page("w", 0, k): b"old" for k in range(600)})
    seen = []
    for key, _ in store.scan(*keys.window_range("w")):
        if not seen:
            store.put_many({keys.meta("w"): b"new"}, delete=[keys.page("w", 0, 1)])
        seen.append(key)
    assert [key for key in seen if key not in (keys.meta("w"), keys.page("w", 0, 1))] == [
        keys.page("w", 0, k) for k in range(600) if k != 1
    ]


def test_a_key_that_is_deleted_and_written_is_written(store: Store) -> None:
    key = keys.page("w", 0, 0)
    store.put_many({key: b"1"})
    store.put_many({key: b"2"}, delete=[key])
    assert store.get_many([key, key]) == [b"2", b"2"]


def test_values_of_any_size_and_bytes_like(store: Store) -> None:
    big = bytes(range(256)) * 4096
    store.put_many({b"w/a/1": b"", b"w/a/2": big, b"w/a/3": memoryview(big)[:100], b"w/a/4": bytearray(b"x")})  # type: ignore[dict-item]
    assert store.get_many([b"w/a/1", b"w/a/2", b"w/a/3", b"w/a/4"]) == [b"", big, big[:100], b"x"]


def test_values_read_stay_as_they_were(store: Store) -> None:
    key = keys.page("w", 0, 0)
    store.put_many({key: b"before" * 1000})
    (kept,) = store.get_many([key])
    for k in range(50):
        store.put_many({key: b"%d" % k * 3000})
    assert kept == b"before" * 1000


def test_nothing_is_something(store: Store) -> None:
    assert store.get_many([]) == []
    store.put_many({})
    store.delete_range(b"w/b", b"w/a")
    assert list(store.scan(b"w/b", b"w/a")) == []


def test_windows_do_not_reach_into_each_other(store: Store) -> None:
    for window in WINDOWS:
        store.put_many({keys.meta(window): window.encode(), keys.page(window, 1, 7): b""})
    store.delete_range(*keys.window_range("a"))
    left = {keys.window_of(key) for key, _ in store.scan(*keys.all_windows())}
    assert left == {"a/b", "ä b", "{x}", "a0"}


def test_a_batch_is_of_one_window(store: Store) -> None:
    with pytest.raises(ArgumentError, match="one window"):
        store.put_many({keys.meta("a"): b"", keys.meta("b"): b""})


@pytest.mark.parametrize("key", [b"", b"x" * 512, "text"])
def test_a_bad_key(store: Store, key: bytes) -> None:
    with pytest.raises(ArgumentError, match="1 to 511 bytes"):
        store.put_many({key: b""})
    with pytest.raises(ArgumentError, match="1 to 511 bytes"):
        store.get_many([key])


@pytest.mark.parametrize("value", ["text", 7, None])
def test_a_bad_value(store: Store, value: bytes) -> None:
    with pytest.raises(ArgumentError, match=r"items\[b'w/a/1'\]=.*: expected bytes"):
        store.put_many({b"w/a/1": value})
    assert store.get_many([b"w/a/1"]) == [None]


def test_the_longest_key(store: Store) -> None:
    store.put_many({b"w/a/" + b"x" * 507: b"1"})
    assert store.get_many([b"w/a/" + b"x" * 507]) == [b"1"]


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    for call in (lambda: store.get_many([b"k"]), lambda: store.put_many({b"k": b""}), store.sync):
        if store.url.startswith("memory") and call == store.sync:
            continue
        with pytest.raises(StoreError, match="closed"):
            call()


def test_one_writer(url: str) -> None:
    name = keys.prefix("w")
    with stores.open(url) as one, stores.open(url) as other:
        assert one.holder(name) is None
        claim = one.claim(name)
        assert other.holder(name) == claim.holder
        for store in (one, other):
            with pytest.raises(StoreLocked, match=re.escape(f"window 'w' is held by {claim.holder}")):
                store.claim(name)
        with other.claim(keys.prefix("another")):
            one.put_many({keys.meta("w"): b"1"}, claim=claim)
        one.release(claim)
        one.release(claim)
        with pytest.raises(StoreLocked, match="released"):
            one.put_many({keys.meta("w"): b"2"}, claim=claim)
        with other.claim(name) as second:
            other.put_many({keys.meta("w"): b"3"}, claim=second)
            other.delete_range(*keys.page_range("w", 0), claim=second)
        assert one.get_many([keys.meta("w")]) == [b"3"]


def test_closing_releases(url: str) -> None:
    with stores.open(url) as one:
        one.claim(keys.prefix("w"))
    with stores.open(url) as other:
        other.claim(keys.prefix("w"))


def test_a_claim_is_for_its_window(store: Store) -> None:
    with store.claim(keys.prefix("a")) as claim:
        with pytest.raises(ArgumentError, match="claim="):
            store.put_many({keys.meta("b"): b""}, claim=claim)
        with pytest.raises(ArgumentError, match="claim="):
            store.delete_range(*keys.all_windows(), claim=claim)
    with pytest.raises(ArgumentError, match="prefix"):
        store.claim(b"a")


def test_a_claim_is_not_inherited(url: str) -> None:
    with stores.open(url) as store:
        claim = store.claim(keys.prefix("w"))
        child = os.fork()
        if not child:
            told = 1
            try:
                store.put_many({keys.meta("w"): b"child"}, claim=claim)
            except StoreError as error:
                told = 0 if "fork" in str(error) else 2
            finally:
                store.close()
                os._exit(told)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.put_many({keys.meta("w"): b"parent"}, claim=claim)  # the child's close has released nothing
        with stores.open(url) as other, pytest.raises(StoreLocked):
            other.claim(keys.prefix("w"))


def test_readers_never_see_half_a_batch(store: Store) -> None:
    """One thread writes the same number under many keys, others read them all, and always find one number."""
    batch = [keys.page("w", 0, k) for k in range(20)]
    store.put_many(dict.fromkeys(batch, b"0"))
    stop, mixed = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            found = set(store.get_many(batch))
            if len(found) != 1:
                mixed.append(found)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for k in range(60):
        store.put_many(dict.fromkeys(batch, b"%d" % k * 500))
    stop.set()
    for reader in readers:
        reader.join()
    assert not mixed


def test_a_url_has_no_store_yet(url: str) -> None:
    with pytest.raises(StoreError, match="there is no"):
        stores.open(url, create=False)
