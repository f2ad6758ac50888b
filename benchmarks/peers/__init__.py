"""Memory systems that a person can install, asked the same questions with the same vectors."""
