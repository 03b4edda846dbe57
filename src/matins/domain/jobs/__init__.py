"""What an owner writes: a job with its target and its policies."""
