"""The HTTP client for targets: one request on the wire for each attempt, never sent twice."""
