"""The pages of the service: made on the server, without a line of JavaScript."""
