"""The web page as people meet it: in headless Chromium, on real processes."""
