"""Accept the calls of Segment's and RudderStack's client libraries."""
