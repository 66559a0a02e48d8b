"""The risks of an installation: for its operator, who alone can mend them."""
