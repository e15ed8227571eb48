"""`lawful demo --rival`: the demo's kill in a program that keeps a note of what it has done and retries what it has not."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

from lawful.cli.console import DONE, REFUSED, command, refuse, say, step
from lawful.cli.publishing import Place
from lawful.effects.http import fetch

HEAD = "plain/wordkit-2.0.0"


def rival(journal: Path) -> int:
    """Open a pull request by a plain program that is killed when it is there, and by its retry; count them at the forge."""
    place = Place(journal.resolve().parent / "demo-forge")
    place.address()
    repo = f"local/rival-{secrets.token_hex(4)}"
    note = place.folder / f"{repo.partition('/')[2]}.json"
    say("The same pull request, by a program that notes what it has done and retries what it has not.")
    first = _child(place.folder, note, repo, "kill")
    if first != -signal.SIGKILL:
        return _failed(f"the program ended with {first} instead of being killed")
    step("first", f"the forge holds {place.count(repo, HEAD)}; the program was killed before it could note it")
    second = _child(place.folder, note, repo, "")
    if second != 0:
        return _failed(f"its retry ended with {second}")
    held = place.count(repo, HEAD)
    step("retry", f"nothing is noted, so it tries again and ends well: the forge holds {held}")
    say("", f"Plain retry: {held} pull requests for one wish. With the ledger, the same kill leaves one:")
    again = f"ledger-{repo.rpartition('-')[2]}"
    say(f"  {command('demo', '--yes', '--lose-reply', '--kill-after-effect', '--thread', again)}")
    say(f"  {command('recover')}")
    return DONE


def _child(folder: Path, note: Path, repo: str, end: str) -> int:
    told = [sys.executable, "-m", "lawful.cli.rival", str(folder), str(note), repo, end]
    return subprocess.run(told, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode


def _failed(why: str) -> int:
    refuse(why, "internal")
    return REFUSED


def plain(folder: str, note: str, repo: str, end: str) -> None:
    """The program itself: what everybody writes first."""
    if Path(note).exists():
        return
    url, token = Place(Path(folder)).address()
    told = {"title": "Update wordkit from 1.4.0 to 2.0.0", "head": HEAD, "base": "main", "body": ""}
    signed = {"Authorization": f"Bearer {token}"}
    got = fetch("POST", f"{url}/repos/{repo}/pulls", headers=signed, data=json.dumps(told).encode())
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    Path(note).write_text(json.dumps(got.json()), encoding="utf-8")


if __name__ == "__main__":
    plain(*sys.argv[1:5])
