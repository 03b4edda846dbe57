"""Matins: a distributed job scheduler, cron for a whole company."""
