"""Rich, which tools of this repository need, is absent from installations of Headwater. Where it is present,
structlog imports it with 60 modules more, which every started process would pay for.
"""

raise ImportError("Installations have no rich.")
