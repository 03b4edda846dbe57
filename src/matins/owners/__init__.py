"""What owners do to jobs and runs, on ports: each use case is played by the simulator as well."""
