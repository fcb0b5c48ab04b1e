"""What the translator does not know, said with its place in the CUDA source."""


class TranslationError(Exception):
    """`place`: "kernel.cu:12", or empty where the PTX does not tell."""

    def __init__(self, message, place=""):
        super().__init__(f"{place}: {message}" if place else message)
