"""What is odd in a dictionary: rules, and the findings they make."""
