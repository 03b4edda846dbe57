"""What executors and gateway say to each other, and who is alive."""
