"""Middleware: what stands around an agent's model calls and tool calls."""
