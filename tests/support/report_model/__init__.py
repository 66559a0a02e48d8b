"""Reports by the words of their definition, in plain Python over plain lists: the judge of whatever
computes them fast. It shares no arithmetic with the product, only the names of sources.
"""
