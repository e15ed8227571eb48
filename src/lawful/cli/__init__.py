"""The command `lawful`."""
