"""All ports in memory, with faults to switch on: what the simulator runs the engine on."""
