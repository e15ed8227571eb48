"""`EncryptedStore`: any long-term store with its values encrypted; namespaces, keys and times are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from lawful.core.errors import CannotDecrypt
from lawful.journal.cipher import Cipher, Part, Sealer
from lawful.stores.store_port import Store, StoreTx
from lawful.stores.store_records import Namespace, Record

T = TypeVar("T")


class EncryptedStore(Store):
    """``store`` with its values encrypted by ``cipher``; each is bound to scope, namespace and key.

    A filter is compared with decrypted values. Times to live and the clock are those of ``store``. ``plain=True`` also
    reads what was stored before there was a cipher. Raises: CannotDecrypt, and what ``store`` raises.
    """

    def __init__(self, store: Store, cipher: Cipher, *, plain: bool = False) -> None:
        super().__init__(scope=store.scope, ttl=store.ttl_config, clock=store.clock)
        self.inner = store
        """The store beneath, which sees encrypted bytes only."""
        self.blocking = store.blocking
        self._sealer = Sealer(cipher, plain=plain)

    def run(self, scope: str, work: Callable[[StoreTx], T], *, writing: bool) -> T:
        return self.inner.run(scope, lambda tx: work(_SealedTx(tx, self._sealer, scope)), writing=writing)

    def sweep_ttl(self) -> int:
        return self.inner.sweep_ttl()

    def close(self) -> None:
        self.inner.close()


class _SealedTx:
    def __init__(self, tx: StoreTx, sealer: Sealer, scope: str) -> None:
        self._tx = tx
        self._sealer = sealer
        self._scope = scope
        self._found: dict[tuple[Namespace, str], Record] = {}
        """What was read, as it is stored."""

    def _place(self, namespace: Namespace, key: str) -> tuple[Part, ...]:
        return ("item", self._scope, len(namespace), *namespace, key)

    def _opened(self, record: Record) -> Record:
        try:
            value = self._sealer.open(record.value, *self._place(record.namespace, record.key))
        except CannotDecrypt as error:
            found = CannotDecrypt(
                f"the item {record.key!a} of namespace {record.namespace!a}: {error.message}",
                component="store",
                operation="read",
                details={**error.details, "namespace": ascii(record.namespace), "key": ascii(record.key)},
            )
            found.raw = error.raw
            raise found from error.__cause__
        self._found[record.namespace, record.key] = record
        return replace(record, value=value)

    def read(self, namespace: Namespace, key: str) -> Record | None:
        found = self._tx.read(namespace, key)
        return None if found is None else self._opened(found)

    def rows(self, prefix: Namespace) -> Iterator[Record]:
        return map(self._opened, self._tx.rows(prefix))

    def namespaces(self, prefix: Namespace) -> Iterator[Namespace]:
        return self._tx.namespaces(prefix)

    def write(self, namespace: Namespace, key: str, value: bytes, ttl: float | None) -> None:
        self._tx.write(namespace, key, self._sealer.seal(value, *self._place(namespace, key)), ttl)

    def remove(self, namespace: Namespace, key: str) -> None:
        self._tx.remove(namespace, key)

    def touch(self, found: Sequence[Record]) -> None:
        self._tx.touch([self._found[record.namespace, record.key] for record in found])
