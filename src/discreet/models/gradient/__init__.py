"""Private gradient descent on lots of people."""
