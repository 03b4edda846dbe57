"""The composition root: the only place that wires ports to adapters, and makes random generators.

Each role is a process that runs until SIGTERM or SIGINT, any number of times side by side. A module
for each, so that a role starts without what only another one imports.
"""
