"""When a job is due: its schedule with calendars, overrides and jitter."""
