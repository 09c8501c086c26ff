"""One program a peer, run by the Python of the peer's own environment: a job as JSON on stdin, one JSON line a
query on stdout. They import nothing of dp4sql."""
