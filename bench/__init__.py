"""What it costs: `lawful` measured beside its peers and beside hand-written Python, in one interleaved run."""
