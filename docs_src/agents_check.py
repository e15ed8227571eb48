"""What an agent's tools declare, and where it can do harm."""

from __future__ import annotations

from lawful import Agent, tool
from lawful.agents.check import check


@tool(reads_private=True)
def read_mail(folder: str) -> str:
    """Read the user's mail."""
    return "..."


@tool(ingests_external=True)
def fetch(url: str) -> str:
    """Fetch a page."""
    return "..."


@tool(sends_out=True)
def browse(url: str) -> str:
    """Open a page of the web."""
    return "..."


clerk = Agent("demo", tools=[read_mail, fetch, browse], name="clerk")
[found] = check(clerk).meetings
print(found.private.tool.name, "+", found.external.tool.name, "->", found.outward.tool.name)
print(check(Agent("demo", tools=[read_mail, browse])).ok)
print([line for line in clerk.explain().splitlines() if "fetch:" in line])

# prints: read_mail + fetch -> browse
# prints: True
# prints: ['  fetch: lets in what outsiders wrote']
