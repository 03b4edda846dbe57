"""Schedules of kind `rrule`: RFC 5545."""
