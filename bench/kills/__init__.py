"""The same death in each contestant's own durable form: killed when the effect has happened and nobody has noted it."""
