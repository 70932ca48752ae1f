"""From chapters and results to HTML, and the command `vnbook`."""
