"""Hide Rich from the tests. Tools of this repository need it, but an installation of Headwater doesn't have
it. Where Rich is installed, structlog imports it with 60 more modules, which slows every process start.
"""

raise ImportError("Installations have no rich.")
