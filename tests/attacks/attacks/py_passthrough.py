# Returns its input.
# expect: wrong_value
# class: W04
def run(x):
    return x
