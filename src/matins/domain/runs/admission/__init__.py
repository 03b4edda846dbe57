"""Admission: whether a run may start, what it waits for, or why it is skipped."""
