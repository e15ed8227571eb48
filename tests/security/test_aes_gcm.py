"""The shipped cipher: AES-GCM binds to its place and key, is never twice the same, and says what is wrong with a key."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="needs the extra cipher")

from lawful.core.errors import CannotDecrypt, ConfigurationError
from lawful.stores import AESGCM, EncryptedJournal, SQLiteJournal
from lawful.testing.conformance_kit import fold, grow

pytestmark = pytest.mark.unit

KEY = bytes(range(32))


def test_it_decrypts_what_it_encrypted_for_the_same_place() -> None:
    """Rows: S1-K08."""
    cipher = AESGCM({"k": KEY}, current="k")
    key_id, sealed = cipher.encrypt(b"text", b"place")
    assert (key_id, len(sealed)) == ("k", 12 + 4 + 16)
    assert cipher.decrypt(key_id, sealed, b"place") == b"text"
    assert cipher.encrypt(b"text", b"place")[1] != sealed
    for changed, place in ((sealed, b"other"), (sealed[:-1] + bytes([sealed[-1] ^ 1]), b"place"), (b"short", b"place")):
        with pytest.raises(ValueError):
            cipher.decrypt(key_id, changed, place)
    with pytest.raises(ValueError):
        AESGCM({"k": KEY[::-1]}, current="k").decrypt(key_id, sealed, b"place")
    with pytest.raises(KeyError):
        cipher.decrypt("other", sealed, b"place")


def test_it_is_aes_gcm_as_others_know_it() -> None:
    """Test case 16 of the mode's specification: key, nonce, associated data, text and what becomes of them."""
    key = bytes.fromhex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    nonce = bytes.fromhex("cafebabefacedbaddecaf888")
    text = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    place = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    sealed = bytes.fromhex(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
        "76fc6ece0f4e1768cddf8853bb2d551b"
    )
    assert AESGCM({"k": key}, current="k").decrypt("k", nonce + sealed, place) == text


@pytest.mark.parametrize(
    "keys, current, why",
    [
        ({"k": b"short"}, "k", "5 bytes"),
        ({"key-1": KEY}, "key-2", "key-1"),
        ({"": KEY}, "", "id"),
        ({"k" * 65: KEY}, "k" * 65, "id"),
        ({"ü": KEY}, "ü", "id"),
    ],
)
def test_keys_that_cannot_be_used_are_refused(keys: dict[str, bytes], current: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        AESGCM(keys, current=current)


def test_its_text_shows_no_key() -> None:
    assert repr(AESGCM({"a": KEY, "b": KEY}, current="b")) == "AESGCM(keys=['a', 'b'], current='b')"
    assert len(AESGCM.new_key()) == 32
    assert AESGCM.new_key() != AESGCM.new_key()


def test_a_journal_goes_on_under_a_new_key(tmp_path: Path) -> None:
    """Rows: S1-K08."""
    grow(EncryptedJournal(SQLiteJournal(tmp_path / "j.db"), AESGCM({"1": KEY}, current="1")), "t", 3)
    journal = EncryptedJournal(SQLiteJournal(tmp_path / "j.db"), AESGCM({"1": KEY, "2": KEY[::-1]}, current="2"))
    assert fold(journal.chain("t")) == b"<0><1><2>"
    grow(journal, "u", 2)
    late = EncryptedJournal(SQLiteJournal(tmp_path / "j.db"), AESGCM({"2": KEY[::-1]}, current="2"))
    assert fold(late.chain("u")) == b"<0><1>"
    with pytest.raises(CannotDecrypt, match="'1'"):
        late.chain("t")


class Absent:
    """Finds no package of this name, as if it were not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "cryptography":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_without_the_package_the_pip_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    with pytest.raises(ConfigurationError, match=r"lawful\[cipher\]"):
        AESGCM({"k": KEY}, current="k")
