"""The executors' side of the API: attempts are handed out, heartbeats heard, ends recorded."""
