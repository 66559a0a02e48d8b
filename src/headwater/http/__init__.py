"""Parts that every route shares: bodies, parameters, errors, access, paging. No domain words."""
