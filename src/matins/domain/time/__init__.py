"""Zones, wall clocks and the arithmetic of the calendar."""
