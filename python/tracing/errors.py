# What a trace may end with.


class Unsupported(Exception):
    """A graph cannot say this; the text is for people."""

    def __init__(self, text, line=0):
        super().__init__(text)
        self.line = line  # of the problem's source, 0: not known
