"""Alerts of a Space: problems of this moment, figures out of their usual range, and the history of
both.
"""
