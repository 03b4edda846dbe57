"""The watch that every API keeps over the whole system, apart from what may be broken in it."""
