"""The executors' side of the API: attempts are handed out, beats heard, ends recorded."""
