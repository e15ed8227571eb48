"""The demo's forge: a process that is started when it is needed, ends when it is not, and answers only who knows its token."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.cli.forge import ADDRESS, MOST, Forge
from lawful.cli.publishing import Place
from lawful.core.errors import ConfigurationError, EffectRefused, NetworkError
from lawful.effects.http import Answer, fetch
from support.providers import running
from support.tree import environment

pytestmark = pytest.mark.integration

TOLD = {"head": "fix", "base": "main", "title": "Fix it", "body": ""}


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge(tmp_path / "forge") as server, running(server):
        yield server


def sent(
    forge: Forge, method: str = "POST", path: str = "/repos/acme/shop/pulls", told: Any = TOLD, **more: str
) -> Answer:
    headers = {"Authorization": f"Bearer {forge.token}", **more}
    data = told if isinstance(told, bytes) else json.dumps(told).encode()
    return fetch(method, forge.url + path, headers=headers, data=data if method == "POST" else None)


def test_it_lists_what_was_opened_by_repository_and_branch(forge: Forge) -> None:
    assert sent(forge).json()["number"] == 1
    assert sent(forge, told={**TOLD, "head": "other"}).json()["number"] == 2
    assert sent(forge, path="/repos/acme/bar/pulls").status == 201

    def numbers(query: str) -> list[int]:
        return [each["number"] for each in sent(forge, "GET", f"/repos/acme/shop/pulls{query}").json()]

    assert numbers("") == [2, 1]
    assert numbers("?head=acme%3Afix&state=all") == [1]
    assert numbers("?head=acme%3Anothing") == []


@pytest.mark.parametrize(
    "method, path, told, more, status",
    [
        ("POST", "/repos/acme/shop/pulls", TOLD, {"Authorization": "Bearer wrong"}, 401),
        ("GET", "/repos/acme/shop/pulls", None, {"Authorization": "Bearer wrong"}, 401),
        ("GET", "/", None, {"Authorization": ""}, 401),
        ("POST", "/repos/acme", TOLD, {}, 404),
        ("GET", "/../../etc/passwd", None, {}, 404),
        ("POST", "/repos/acme/shop/pulls", b"{", {}, 422),
        ("POST", "/repos/acme/shop/pulls", b"[]", {}, 422),
        ("POST", "/repos/acme/shop/pulls", {**TOLD, "title": 7}, {}, 422),
        ("POST", "/repos/acme/shop/pulls", {"title": "x"}, {}, 422),
    ],
    ids=str,
)
def test_what_it_does_not_take(
    forge: Forge, method: str, path: str, told: Any, more: dict[str, str], status: int
) -> None:
    got = sent(forge, method, path, told, **more)
    assert got.status == status
    assert forge.pulls("acme/shop", "") == []


def test_a_body_that_is_too_large_is_refused_unread(forge: Forge) -> None:
    headers = {"Authorization": f"Bearer {forge.token}", "Content-Length": str(MOST + 1)}
    got = fetch("POST", f"{forge.url}/repos/acme/shop/pulls", headers=headers, data=b"")
    assert got.status == 422


def test_a_repeat_under_a_key_is_one_and_many_at_once_are_one(forge: Forge) -> None:
    got: list[int] = []
    threads = [
        threading.Thread(target=lambda: got.append(sent(forge, **{"Idempotency-Key": "k"}).json()["number"]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [1] * 8
    assert len(forge.pulls("acme/shop", "")) == 1


def test_it_is_started_once_goes_on_with_its_file_and_ends_when_nobody_asks(tmp_path: Path) -> None:
    place = Place(tmp_path / "forge")
    found: list[tuple[str, str]] = []
    threads = [threading.Thread(target=lambda: found.append(place.address())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    told = json.loads((place.folder / ADDRESS).read_text())
    assert stat.S_IMODE((place.folder / ADDRESS).stat().st_mode) == 0o600
    url, token = found[0]
    signed = {"Authorization": f"Bearer {token}"}
    fetch("POST", f"{url}/repos/acme/shop/pulls", headers=signed, data=json.dumps(TOLD).encode())
    assert place.count("acme/shop", "fix") == 1
    os.kill(told["pid"], signal.SIGKILL)
    url, token = place.address()
    listed = fetch("GET", f"{url}/repos/acme/shop/pulls", headers={"Authorization": f"Bearer {token}"}).json()
    assert [each["number"] for each in listed] == [1]
    os.kill(json.loads((place.folder / ADDRESS).read_text())["pid"], signal.SIGKILL)


def test_it_ends_by_itself(tmp_path: Path) -> None:
    program = (
        "import threading; from lawful.cli.forge import Forge\n"
        f"forge = Forge({str(tmp_path / 'forge')!r}, idle=0.2); forge.announce()\n"
        "threading.Thread(target=forge.until_idle, daemon=True).start()\n"
        "forge.serve_forever(poll_interval=0.02)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], env=environment())
    assert child.wait(60) == 0
    assert not (tmp_path / "forge" / ADDRESS).exists()


def test_a_forge_that_cannot_be_started_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lawful.cli.publishing.START_SECONDS", 0.1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(NetworkError, match="no forge could be started"):
        Place(tmp_path / "forge").address()


# One request


def test_nothing_is_sent_where_nobody_listens() -> None:
    with pytest.raises(EffectRefused) as caught:
        fetch("POST", "http://127.0.0.1:9/", data=b"x")
    assert caught.value.retryable


@pytest.mark.parametrize("url", ["ftp://example.com/", "/pulls", "http://"])
def test_an_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        fetch("GET", url)


def test_a_redirect_is_an_answer_and_is_not_followed(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def elsewhere(repo: str, told: dict[str, str], key: str) -> tuple[int, Any]:
        seen.append(repo)
        return 307, {"message": "elsewhere"}

    monkeypatch.setattr(forge, "create", elsewhere)
    assert sent(forge).status == 307
    assert seen == ["acme/shop"]


def test_an_answer_that_never_comes_is_told_in_time(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forge, "pulls", lambda *told: time.sleep(1.0))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(NetworkError):
        fetch(
            "GET",
            f"{forge.url}/repos/acme/shop/pulls",
            headers={"Authorization": f"Bearer {forge.token}"},
            timeout=0.1,
        )
