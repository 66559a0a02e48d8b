"""Telling people: the channels of a Space, and messages on their way to them."""
