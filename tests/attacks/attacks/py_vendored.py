# Imports kernels that somebody else wrote.
# expect: runtime_error
# class: B07
import flash_attn


def run(x):
    return flash_attn.square_plus(x)
