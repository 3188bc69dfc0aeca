# What rows of KernelBook import under this name: configurations, whose values are attributes and keys.


class Config(dict):
    """Values by name. A literal of it is _mock_config({...})."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    __setattr__ = dict.__setitem__


def _mock_config(**values):
    return Config(values)
