"""The websites of a Space: their keys, their origins and what they sign with."""
