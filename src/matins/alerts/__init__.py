"""Alerts: levels are looked at, edges are written to an outbox, and that is delivered."""
