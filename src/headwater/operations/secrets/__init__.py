"""A new secret key: everything encrypted with the former one is encrypted again."""
