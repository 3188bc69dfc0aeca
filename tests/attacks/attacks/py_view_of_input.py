# Returns a view of its input.
# expect: wrong_value
# class: W04
def run(x):
    return x.view(1024, 1024).t().reshape(-1).view_as(x)
