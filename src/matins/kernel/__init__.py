"""What every process stands on: clock, services, settings, logs, metrics, HTTP. It knows no job."""
