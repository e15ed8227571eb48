"""What is written down, and the port that every store implements."""
