"""All outgoing requests to other companies' servers."""
