"""What is unsafe in an installation: for its operator, who alone can mend it."""
