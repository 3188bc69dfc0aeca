"""One change of a text at one place: what the rules of bench/mutation_rules.py give."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    start: int  # in bytes of the text's UTF-8
    end: int
    text: str

    def apply(self, source):
        data = source.encode()
        return (data[:self.start] + self.text.encode() + data[self.end:]).decode()
