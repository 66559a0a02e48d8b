"""The ad platforms, one folder each.

A platform also needs a README that says which events aren't sent, a test in `tests/platforms/`, and rows in
`docs/forwarding.md` and `docs/configuration.md`.
"""
