"""The ad platforms, one folder each, and their shared code.

A platform also needs a README that says which events aren't sent, a test in `tests/platforms/`, and rows in
`docs/forwarding.md` and `docs/configuration.md`.
"""
