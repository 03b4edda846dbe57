"""What every process stands on: the clock, services, settings, logs, metrics. It knows no job."""
