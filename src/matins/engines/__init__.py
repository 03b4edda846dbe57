"""The embedded PostgreSQL and Valkey: found, started, watched and stopped."""
