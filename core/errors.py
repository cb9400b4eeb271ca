"""What can be wrong with what a user gave us."""


class InputError(Exception):
    """One sentence that names the place and says what to do; the command line ends with exit code 2."""
