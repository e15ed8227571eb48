"""Each official SDK against a server that others wrote to speak the providers' wires; its journal counts what arrived."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import Failure
from lawful.core.llm_errors import MalformedReply, ProviderFailed, RateLimited, StreamBroken
from lawful.core.messages import tool_result, user
from lawful.models import ToolSpec, structured
from support.wires import QUICK, SDKS, made, there

pytestmark = [pytest.mark.integration, pytest.mark.full]

PACKAGE = "@copilotkit/aimock@1.43"
LONG = "one two three four five six seven eight nine ten " * 4
FIXTURES: list[dict[str, Any]] = [
    {"match": {"userMessage": "hello"}, "response": {"content": "Hi there, friend of mine."}},
    {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "It is fair in Lyon."}},
    {
        "match": {"userMessage": "weather"},
        "response": {"toolCalls": [{"name": "weather", "arguments": {"city": "Lyon"}}]},
    },
    {"match": {"userMessage": "coat"}, "response": {"content": '{"coat": true, "why": "rain"}'}},
    {
        "match": {"userMessage": "too fast"},
        "response": {
            "error": {"message": "Rate limited", "type": "rate_limit_error"},
            "status": 429,
            "retryAfter": 0.25,
        },
    },
    {
        "match": {"userMessage": "oops"},
        "response": {"error": {"message": "Broken", "type": "server_error"}, "status": 500},
    },
    {"match": {"userMessage": "cut"}, "response": {"content": LONG}, "truncateAfterChunks": 3, "latency": 20},
    {"match": {"userMessage": "garbage"}, "response": {"content": "x"}, "chaos": {"malformedRate": 1}},
]
WIRES = [
    pytest.param(wire, marks=pytest.mark.skipif(not there(wire), reason=f"needs the package {SDKS[wire]}"))
    for wire in SDKS
]
wires = pytest.mark.parametrize("wire", WIRES)
WEATHER = ToolSpec("weather", "Today's weather.", {"type": "object", "properties": {"city": {"type": "string"}}})


def _missing(why: str) -> None:
    if os.environ.get("LAWFUL_CI"):
        pytest.fail(why)
    pytest.skip(why)


def _program() -> Path:
    """The server's program, installed into a cache folder when it is first needed."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        _missing("needs node and npm")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lawful-tests" / "aimock"
    program = home / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    if not program.exists():
        home.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            _missing(f"npm could not install {PACKAGE}: {done.stderr[-300:]}")
    return program


@dataclass(frozen=True)
class Advice:
    coat: bool
    why: str


@dataclass(frozen=True)
class Server:
    url: str

    def arrived(self) -> int:
        """How many requests the server's journal holds."""
        with urllib.request.urlopen(f"{self.url}/__aimock/journal?limit=1000", timeout=10) as reply:
            found: Any = json.loads(reply.read())
        return len(found if isinstance(found, list) else found["entries"])  # pyright: ignore[reportUnknownArgumentType]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    program = _program()
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    port = 41000 + os.getpid() % 2000
    command = ["node", str(program), "-p", str(port), "-f", str(fixtures), "-c", "5", "--log-level", "silent"]
    with subprocess.Popen(command, stdout=sys.stderr, stderr=sys.stderr) as process:
        running = Server(f"http://127.0.0.1:{port}")
        for _ in range(200):
            try:
                running.arrived()
                break
            except OSError:
                assert process.poll() is None, "the server ended"
                time.sleep(0.05)
        yield running
        process.terminate()


@wires
@pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not")  # a reason that this server makes up for Gemini
def test_text_stream_tools_and_form(wire: str, server: Server) -> None:
    """Rows: S0-045."""
    before = server.arrived()
    with made(wire, server.url) as model:
        reply = model.invoke("hello")
        with model.stream("hello") as stream:
            pieces = list(stream.text())
        asked = user("weather in Lyon")
        call = model.invoke([asked], tools=[WEATHER])
        result = tool_result(call.calls[0].id or "", "fair")
        told = model.invoke([asked, call.message, result], tools=[WEATHER])
        found = structured(model, Advice, "coat")
    assert reply.text == "".join(pieces) == "Hi there, friend of mine."
    assert len(pieces) > 1
    assert reply.text == stream.reply.text
    assert reply.finish == "stop"
    assert [(one.name, one.args) for one in call.calls] == [("weather", {"city": "Lyon"})]
    assert (call.finish, told.text) == ("tool_calls", "It is fair in Lyon.")
    assert found.value == Advice(True, "rain")
    assert server.arrived() - before == 5


@wires
@pytest.mark.parametrize(
    "prompt, kinds",
    [
        ("too fast", (RateLimited,)),
        ("oops", (ProviderFailed,)),
        ("cut", (StreamBroken,)),
        # To a reader of events a body of broken JSON is one without any event.
        ("garbage", (MalformedReply, StreamBroken)),
    ],
)
def test_every_failure_is_typed_and_tried_as_often_as_told(
    wire: str, prompt: str, kinds: tuple[type[Failure], ...], server: Server
) -> None:
    """Rows: S0-045."""
    before = server.arrived()
    with made(wire, server.url) as model, pytest.raises(kinds):
        model.invoke(prompt)
    assert server.arrived() - before == 1
    with made(wire, server.url, retry=QUICK) as model, pytest.raises(kinds) as caught:
        model.invoke(prompt)
    assert caught.value.retryable
    assert server.arrived() - before == 4
    if prompt == "too fast":
        assert caught.value.details["retry_after"] == "0.25"


# Of the other two the server has not the calls that their SDKs make; test_embeddings.py speaks those wires.
def test_embeddings(server: Server) -> None:
    """Rows: S0-045."""
    pytest.importorskip("openai")
    from lawful.models.embedders import OpenAIEmbedder

    before = server.arrived()
    with OpenAIEmbedder(base_url=f"{server.url}/v1", api_key="k") as embedder:
        found = embedder.embed(["one", "two"])
    assert len(found.vectors) == 2
    assert found.vectors[0] != found.vectors[1]
    assert server.arrived() - before == 1
