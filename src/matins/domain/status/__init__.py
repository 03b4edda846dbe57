"""Whether all is well: what is wrong, since when, what to do; judged from rows and the clock."""
