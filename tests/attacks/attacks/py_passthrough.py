# Returns its input.
# expect: wrong_value
def run(x):
    return x
