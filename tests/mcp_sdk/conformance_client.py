"""The client that the MCP conformance package drives: ours, or with ``--bare`` the official SDK's own, in each scenario.

The package appends the server's URL to the command and names the scenario in MCP_CONFORMANCE_SCENARIO.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import mcp
import mcp_types as types
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from lawful.mcp import connect

Call = Callable[[str, dict[str, Any]], Awaitable[object]]

CALLBACK = "http://localhost:3030/callback"
CIMD = "https://conformance-test.local/client-metadata.json"


class Storage:
    """Tokens, in memory."""

    def __init__(self, known: OAuthClientInformationFull | None) -> None:
        self._tokens: OAuthToken | None = None
        self._known = known

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._known

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._known = client_info


class Browser:
    """Goes to the page of the authorization server, which agrees at once, and takes the code from where it leads."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    async def go(self, url: str) -> None:
        async with httpx2.AsyncClient() as http:
            answer = await http.get(url, follow_redirects=False)
        self._found = parse_qs(urlsplit(answer.headers["location"]).query)

    async def found(self) -> AuthorizationCodeResult:
        told = {name: values[0] for name, values in self._found.items()}
        return AuthorizationCodeResult(code=told["code"], state=told.get("state"), iss=told.get("iss"))


def auth_of(url: str, scenario: str) -> httpx2.Auth | None:
    if not scenario.startswith("auth/"):
        return None
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    known = None
    if "client_id" in context:
        known = OAuthClientInformationFull(
            client_id=context["client_id"],
            client_secret=context.get("client_secret"),
            token_endpoint_auth_method="client_secret_basic" if context.get("client_secret") else "none",
            redirect_uris=[AnyUrl(CALLBACK)],
        )
    browser = Browser()
    metadata = OAuthClientMetadata(
        client_name="conformance",
        redirect_uris=[AnyUrl(CALLBACK)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    return OAuthClientProvider(url, metadata, Storage(known), browser.go, browser.found, client_metadata_url=CIMD)


async def accept(context: Any, params: Any) -> Any:
    """Fill a form with its defaults."""
    fields: dict[str, Any] = getattr(params, "requested_schema", {}).get("properties", {})
    told: dict[str, Any] = {name: field["default"] for name, field in fields.items() if "default" in field}
    return types.ElicitResult(action="accept", content=told)


async def act(scenario: str, tools: list[str], call: Call) -> None:
    """What a scenario asks of the client, beside connecting and listing."""
    if scenario == "tools_call":
        await call("add_numbers", {"a": 5, "b": 3})
    elif scenario == "elicitation-sep1034-client-defaults":
        await call("test_client_elicitation_defaults", {})
    elif scenario == "sse-retry":
        await call("test_reconnection", {})
    elif scenario.startswith("auth/"):
        for name in tools:
            await call(name, {})


async def ours(url: str, scenario: str) -> None:
    async with connect(url, auth=auth_of(url, scenario), elicit=accept, timeout=20) as server:
        await act(scenario, list(server.effects), server.call)


async def bare(url: str, scenario: str) -> None:
    async with (
        httpx2.AsyncClient(auth=auth_of(url, scenario), timeout=30) as http,
        mcp.Client(streamable_http_client(url, http_client=http), elicitation_callback=accept) as client,
    ):
        listed = await client.list_tools()
        await act(scenario, [tool.name for tool in listed.tools], client.call_tool)


if __name__ == "__main__":
    which = bare if "--bare" in sys.argv else ours
    asyncio.run(which(sys.argv[-1], os.environ.get("MCP_CONFORMANCE_SCENARIO", "initialize")))
