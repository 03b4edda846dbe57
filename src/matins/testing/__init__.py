"""The test bench, shipped: the simulator, the history checker, a proxy that cuts connections."""
