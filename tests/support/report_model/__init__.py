"""Reports computed from their definitions, in plain Python over plain lists: a reference for the fast
implementations. It shares only the names of sources with the product, no arithmetic.
"""
