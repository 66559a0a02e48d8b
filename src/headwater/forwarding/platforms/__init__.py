"""The ad platforms, one folder each, and their shared code.

A new platform needs a folder with its class in `__init__.py` and a README that says which events aren't sent,
a test in `tests/platforms/`, and a row in `docs/forwarding.md` and `docs/configuration.md`.
"""
