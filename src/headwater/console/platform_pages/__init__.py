"""Pages of ad platforms: what is connected, connecting one step by step, and what became of events
there.
"""
