"""Headwater: conversion tracking and attribution on PostgreSQL."""

from zoneinfo import reset_tzpath

__version__ = "1.0.0"

# The machine's own zone files come first otherwise. They may be years old, or differ between two machines
# that serve the same Space, which then disagree about its days.
reset_tzpath(to=())
