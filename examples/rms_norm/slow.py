# Root-mean-square normalisation computed in float64: twice the memory traffic for digits that are rounded away at the end.
def run(x, weight):
    wide = x.double()
    factor = (wide.square().mean(dim=-1, keepdim=True) + 1e-6).rsqrt()
    return (wide * factor * weight.double()).float()
