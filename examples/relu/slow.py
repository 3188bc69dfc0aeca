# ReLU as (x + |x|) / 2: three passes over memory instead of one.
def run(x):
    return (x + x.abs()) * 0.5
