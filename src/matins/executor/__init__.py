"""The role that calls targets: it polls a gateway for attempts, runs them, reports their ends."""
