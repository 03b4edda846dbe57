"""Schedules of kind `cron`."""
