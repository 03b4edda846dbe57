"""A schedule in plain English, with what its owner should know before trusting it."""
