-- name: sealed
-- The encrypted values of a column, and what names their rows. For the operator, in all Spaces.
SELECT {column}, {keys} FROM {table} WHERE {column} IS NOT NULL;

-- name: replace
-- Replace a value unless it has changed meanwhile; no two are equal. Its plain text stays the same.
UPDATE {table} SET {column} = %(renewed)s WHERE {column} = %(sealed)s;
