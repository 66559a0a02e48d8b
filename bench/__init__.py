"""Measurements of Headwater on this machine: `make bench`.

Machines differ and are shared, so each figure comes with a ratio to something measured in the
same run, or with its conditions.
"""
