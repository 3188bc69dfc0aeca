# Argmax by sorting each row.
def run(x):
    return x.sort(dim=-1, descending=True).indices[:, 0].contiguous()
