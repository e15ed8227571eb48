# What is done by hand or by a machine that has Node and a network; all else is in .ci/.

python ?= .venv/bin/python
cache ?= .pytest_cache/d

.PHONY: mcp-conformance mcp-servers

# The client scenarios of the MCP conformance package: what the official SDK passes, ours must pass.
mcp-conformance:
	PYTHONPATH=src $(python) tests/mcp_sdk/run_conformance.py $(cache)/mcp-conformance

# Servers that others wrote: everything, filesystem, memory (npm), time, git (PyPI).
mcp-servers:
	PYTHONPATH=src $(python) -m pytest tests/mcp_sdk/test_real_servers.py -m full -n 0
