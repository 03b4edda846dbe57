"""Schedules: what owners write, and the due times that follow from it."""
