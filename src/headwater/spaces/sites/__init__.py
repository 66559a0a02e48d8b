"""The websites of a Space: their keys, origins and signing secrets."""
