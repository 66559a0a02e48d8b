"""Order pages: webhooks, deliveries and file imports."""
