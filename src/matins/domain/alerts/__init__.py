"""Alerts: when a job is bad, what is told of it, and to whom."""
