"""HTTP parts shared by all routes: bodies, parameters, errors, limits, paging. No domain terms."""
