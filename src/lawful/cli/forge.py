"""A small forge: pull requests over HTTP, kept in an SQLite file, asked by list, repeats known by idempotency key."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sqlite3
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

ADDRESS = "address.json"
"""In the forge's folder: where it listens and the token that it wants, for as long as it runs."""
DATABASE = "forge.db"
IDLE = 10.0
"""Seconds without a request after which the process ends by itself; the next one that is started goes on with its file."""
LOSE = "X-Lose-Reply"
"""A request with this header is carried out and never answered."""
MOST = 1_000_000
"""Bytes of a request's body."""

_TABLES = """
CREATE TABLE IF NOT EXISTS pulls(
  number INTEGER PRIMARY KEY, repo TEXT NOT NULL, head TEXT NOT NULL, base TEXT NOT NULL,
  title TEXT NOT NULL, body TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS keys(key TEXT PRIMARY KEY, request TEXT NOT NULL, number INTEGER NOT NULL);
"""
_FIELDS = ("title", "head", "base", "body")


class Forge(ThreadingHTTPServer):
    """Serves ``folder`` on a free port of the loopback interface.

    Its API is a part of GitHub's: ``POST`` and ``GET /repos/OWNER/NAME/pulls``, and ``GET .../git/ref/heads/BRANCH`` for
    the branches that it was told of in `heads`. Unlike GitHub it takes a second open pull
    request for the same branch, as most things in the world are taken twice; with ``one_open`` it refuses (422) as GitHub
    does. An ``Idempotency-Key`` is honoured where one is sent.
    """

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, folder: str | Path, *, one_open: bool = False, idle: float = IDLE) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.one_open = one_open
        self.idle = idle
        self.token = secrets.token_hex(16)
        self.seen = time.monotonic()
        self.heads: dict[str, str] = {}
        """Commits by "OWNER/NAME/BRANCH"."""
        with closing(self.opened()) as con:
            con.executescript(_TABLES)
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # not HTTPServer's, which asks the resolver for a name
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go are part of the play."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def opened(self) -> sqlite3.Connection:
        """The file, for one request."""
        con = sqlite3.connect(self.folder / DATABASE, timeout=10.0, isolation_level=None)
        con.row_factory = sqlite3.Row
        return con

    def announce(self) -> None:
        """Write down where it listens, for this user alone."""
        new = self.folder / f".{ADDRESS}.{os.getpid()}"
        told = {"url": self.url, "token": self.token, "pid": os.getpid()}
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(told, file)
        os.replace(new, self.folder / ADDRESS)

    def until_idle(self) -> None:
        """End once nobody has asked anything for a while."""
        while (left := self.seen + self.idle - time.monotonic()) > 0:
            time.sleep(left)
        (self.folder / ADDRESS).unlink(missing_ok=True)
        self.shutdown()

    # What it does

    def create(self, repo: str, told: dict[str, str], key: str) -> tuple[int, Any]:
        """Status and answer to a new pull request, or to a repeat of one under the same key."""
        request = json.dumps([repo, told], sort_keys=True)
        with closing(self.opened()) as con:
            con.execute("BEGIN IMMEDIATE")
            held = con.execute("SELECT request, number FROM keys WHERE key=?", (key,)).fetchone() if key else None
            if held is not None and held["request"] != request:
                return 422, {"message": "this idempotency key was used for another request"}
            if held is not None:
                return 201, self.shown(con, held["number"])
            same = con.execute("SELECT 1 FROM pulls WHERE repo=? AND head=? AND base=?", _place(repo, told)).fetchone()
            if self.one_open and same is not None:
                return 422, {"message": f"A pull request already exists for {told['head']}."}
            values = (repo, *(told[name] for name in ("head", "base", "title", "body")), time.time())
            made = con.execute("INSERT INTO pulls(repo, head, base, title, body, at) VALUES (?,?,?,?,?,?)", values)
            if key:
                con.execute("INSERT INTO keys VALUES (?,?,?)", (key, request, made.lastrowid))
            con.execute("COMMIT")
            return 201, self.shown(con, made.lastrowid)

    def pulls(self, repo: str, head: str) -> list[Any]:
        """Those of a repository, newest first; of one branch, if ``head`` ("OWNER:BRANCH") is given."""
        branch = head.partition(":")[2]
        with closing(self.opened()) as con:
            rows = con.execute("SELECT number, head FROM pulls WHERE repo=? ORDER BY number DESC", (repo,)).fetchall()
            return [self.shown(con, row["number"]) for row in rows if not head or row["head"] == branch][:100]

    def shown(self, con: sqlite3.Connection, number: int | None) -> dict[str, Any]:
        row = con.execute("SELECT * FROM pulls WHERE number=?", (number,)).fetchone()
        return {
            "number": row["number"],
            "state": "open",
            "html_url": f"forge://{row['repo']}/pull/{row['number']}",
            "title": row["title"],
            "body": row["body"],
            "head": {"ref": row["head"]},
            "base": {"ref": row["base"]},
        }


def _place(repo: str, told: dict[str, str]) -> tuple[str, str, str]:
    return repo, told["head"], told["base"]


class _Handler(BaseHTTPRequestHandler):
    server: Forge  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    timeout = 10

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        if place.path == "/" and self._known():
            self._answer(200, {"forge": str(self.server.folder)})
        elif "/git/ref/heads/" in place.path:
            self._branch(place.path)
        elif (repo := self._repo(place.path)) is not None and self._known():
            head = parse_qs(place.query).get("head", [""])[0]
            self._answer(200, self.server.pulls(repo, head))

    def do_POST(self) -> None:
        repo = self._repo(urlsplit(self.path).path)
        if repo is None or not self._known():
            return
        told = self._told()
        if told is None:
            self._answer(422, {"message": f"wanted are the texts {', '.join(_FIELDS)}"})
            return
        status, answer = self.server.create(repo, told, self.headers.get("Idempotency-Key", ""))
        if self.headers.get(LOSE):
            self.close_connection = True
            return
        self._answer(status, answer)

    def _branch(self, path: str) -> None:
        repo, _, branch = path.removeprefix("/repos/").partition("/git/ref/heads/")
        commit = self.server.heads.get(f"{unquote(repo)}/{unquote(branch)}")
        if not self._known():
            return
        if commit is None:
            self._answer(404, {"message": "Not Found"})
        else:
            self._answer(200, {"ref": f"refs/heads/{unquote(branch)}", "object": {"type": "commit", "sha": commit}})

    def _repo(self, path: str) -> str | None:
        match path.split("/"):
            case ["", "repos", owner, name, "pulls"]:
                return f"{unquote(owner)}/{unquote(name)}"
            case ["", ""]:
                return None
            case _:
                self._answer(404, {"message": "Not Found"})
                return None

    def _known(self) -> bool:
        self.server.seen = time.monotonic()
        if secrets.compare_digest(self.headers.get("Authorization", ""), f"Bearer {self.server.token}"):
            return True
        self._answer(401, {"message": "Bad credentials"})
        return False

    def _told(self) -> dict[str, str] | None:
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or int(size) > MOST:
            return None
        try:
            read = json.loads(self.rfile.read(int(size)))
        except ValueError:
            return None
        if not isinstance(read, dict) or not all(isinstance(read.get(name), str) for name in _FIELDS):  # pyright: ignore[reportUnknownMemberType]
            return None
        return {name: read[name] for name in _FIELDS}

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def main(folder: str) -> None:
    """Serve ``folder`` until nobody asks any more; a second process for the same folder ends at once."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with open(Path(folder) / "lock", "ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        with Forge(folder) as forge:
            threading.Thread(target=forge.until_idle, daemon=True).start()
            forge.announce()
            forge.serve_forever(poll_interval=0.1)


if __name__ == "__main__" and os.fork() == 0:
    # The parent ends at once, so that whoever started it waits for nothing and leaves no child behind.
    main(sys.argv[1])
