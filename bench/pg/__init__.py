"""The contestants of the suite `postgres`."""
