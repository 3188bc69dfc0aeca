# Returns its one output in a tuple.
# expect: passed
# looks like: a wrong number of outputs
def run(x):
    return (x * x + x,)
