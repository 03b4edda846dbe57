"""A team's calendars: the days and times at which jobs are not to run."""
