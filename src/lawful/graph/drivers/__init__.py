"""The two thin drivers that run tasks and commit what the machine orders."""
