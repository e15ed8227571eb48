"""The suites: which rows are measured, and what each must reach."""
