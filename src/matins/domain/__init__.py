"""Values and pure functions, which decide everything: no I/O, no clock, no random numbers."""
