# What interpreted kernels cannot have, by name: the supervisor finds these words in the log (src/gym/supervisor/missing_backend.cc).


class Unsupported(NotImplementedError):
    """The machine lacks something that a GPU has: nobody's fault. The text names it."""


def inline_ptx(*_, **__):
    raise Unsupported("inline PTX cannot be interpreted")


def global_timer(*_, **__):
    raise Unsupported("globaltimer cannot be interpreted: there is no GPU whose clock it reads")


def waiting_program(line):
    return Unsupported(f"a program waits for another program ({line}): interpreted programs run one after the other")
