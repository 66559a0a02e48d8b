"""The API reference: a page generated from the OpenAPI document, and its examples."""
