"""Charts: pure functions from figures to the shapes of an SVG, which templates draw."""
