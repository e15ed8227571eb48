"""`EncryptedStore`: any long-term store with its values encrypted; namespaces, keys and times are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from lawful.core.errors import CannotDecrypt
from lawful.journal.cipher import Cipher, Part, Sealer
from lawful.stores.rekeying import item_tables, rekeyed
from lawful.stores.sqlite_store_schema import unpacked
from lawful.stores.store_checks import no_index
from lawful.stores.store_port import IndexedTx, Store, StoreTx
from lawful.stores.store_records import Namespace, Record

T = TypeVar("T")


class EncryptedStore(Store):
    """``store`` with its values encrypted by ``cipher``; each is bound to scope, namespace and key.

    A filter is compared with decrypted values. Of an index the vectors are encrypted too, for a text can be guessed from its
    vector; the embedder sees the texts. Times to live and the clock are those of ``store``. ``plain=True`` also
    reads what was stored before there was a cipher. Raises: CannotDecrypt, and what ``store`` raises.
    """

    def __init__(self, store: Store, cipher: Cipher, *, plain: bool = False) -> None:
        self.supports_index = store.supports_index
        super().__init__(scope=store.scope, ttl=store.ttl_config, index=store.index_config, clock=store.clock)
        self.inner = store
        """The store beneath, which sees encrypted bytes only."""
        self.blocking = store.blocking
        self._sealer = Sealer(cipher, plain=plain)

    def run(self, scope: str, work: Callable[[StoreTx], T], *, writing: bool) -> T:
        return self.inner.run(scope, lambda tx: work(_SealedTx(tx, self._sealer, scope)), writing=writing)

    def sweep_ttl(self) -> int:
        return self.inner.sweep_ttl()

    def rekey(self, *, batch: int = 200) -> int:
        """As `EncryptedJournal.rekey`, of the items and vectors of every scope."""

        def anew(*what: Part) -> Callable[[str, bytes, str, bytes], bytes]:
            def made(scope: str, ns: bytes, key: str, data: bytes) -> bytes:
                namespace = unpacked(ns)
                try:
                    return self._sealer.anew(data, *what, "item", scope, len(namespace), *namespace, key)
                except CannotDecrypt as error:
                    raise _placed(error, namespace, key) from error.__cause__

            return made

        return rekeyed(self.inner, item_tables(anew(), anew("vectors")), self._sealer.mark, batch)

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
        namespace, key = record.namespace, record.key
        value = self._open(record.value, namespace, key, *self._place(namespace, key))
        self._found[record.namespace, record.key] = record
        return replace(record, value=value)

    def _open(self, data: bytes, namespace: Namespace, key: str, *place: Part) -> bytes:
        try:
            return self._sealer.open(data, *place)
        except CannotDecrypt as error:
            raise _placed(error, namespace, key) from error.__cause__

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

    def set_vectors(self, namespace: Namespace, key: str, data: bytes) -> None:
        sealed = self._sealer.seal(data, "vectors", *self._place(namespace, key))
        self._indexed().set_vectors(namespace, key, sealed)

    def vectors(self, prefix: Namespace) -> Iterator[tuple[Namespace, str, bytes]]:
        for namespace, key, data in self._indexed().vectors(prefix):
            yield namespace, key, self._open(data, namespace, key, "vectors", *self._place(namespace, key))

    def _indexed(self) -> IndexedTx:
        if not isinstance(self._tx, IndexedTx):
            raise no_index("supports_index")
        return self._tx

    def touch(self, found: Sequence[Record]) -> None:
        self._tx.touch([self._found[record.namespace, record.key] for record in found])


def _placed(error: CannotDecrypt, namespace: Namespace, key: str) -> CannotDecrypt:
    found = CannotDecrypt(
        f"the item {key!a} of namespace {namespace!a}: {error.message}",
        component="store",
        operation="read",
        details={**error.details, "namespace": ascii(namespace), "key": ascii(key)},
    )
    found.raw = error.raw
    return found
