"""The application: composition root, configuration, the conversation with Claude, console and jobs."""
