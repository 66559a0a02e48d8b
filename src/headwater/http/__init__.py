"""What every route shares: bodies, query parameters, errors, access, paging. No domain words."""
