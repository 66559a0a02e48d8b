"""The reference of the API: a page made from the OpenAPI document, and its examples."""
