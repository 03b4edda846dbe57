"""The role that claims what is due: leases, the wheel, the claim, and the watch over executors."""
