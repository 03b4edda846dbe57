"""What Valkey holds, and may lose at any moment."""
