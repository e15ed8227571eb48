"""Contestants of the suite `agents`."""
