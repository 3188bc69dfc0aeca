# Inherits from the reference.
# expect: runtime_error
# problem: two_layers
# class: B03
class ModelNew(Model):  # noqa: F821
    pass
