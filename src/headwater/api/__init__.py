"""The public API's endpoints, by subject. They parse, call the domain packages and answer."""
