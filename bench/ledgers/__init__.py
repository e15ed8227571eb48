"""What the suite `effects` compares."""
