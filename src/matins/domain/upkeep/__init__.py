"""What the upkeep decides: about runs that lost rows, and about what is kept."""
