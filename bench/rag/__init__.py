"""What the suite `rag` and the measurement of retrieval work on."""
