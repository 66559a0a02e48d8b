"""The ad platforms, one folder each, and the code that they share.

A new platform is a folder, with its class in `__init__.py` and a README that says what is not sent,
and when; its test in `tests/platforms/`; and a row each in `docs/forwarding.md` and
`docs/configuration.md`. Nothing else names it.
"""
