"""Contacts merged and told apart again, and what is stored of them following each."""
