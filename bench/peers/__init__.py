"""The contestants: one module each, all with the functions of `bench.jobs.Peer`."""
