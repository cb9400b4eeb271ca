"""What can be wrong with what a user gave us."""


class InputError(Exception):
    """One sentence that names the place and says what to do; the command line ends with exit code 2.

    What it quotes may hold anything: line ends and other unprintable signs are written out, so that it is one line.
    """

    def __init__(self, sentence: str) -> None:
        written = (sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in sentence)
        super().__init__("".join(written))
