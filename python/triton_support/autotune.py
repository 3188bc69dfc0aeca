# Autotuning without a clock: a configuration is chosen by a secret seed.
import random

from triton.runtime.autotuner import Autotuner


class Tuning:
    """Stands in for the measurements of triton.autotune in this process.

    not_this_one: exceptions that mean that a configuration cannot be used, as Triton's own tuning takes them. The
    compiler and the interpreter of a candidate are given one seed, so both choose alike.
    """

    def __init__(self, seed, not_this_one):
        self.choosing = False  # a launch now is a trial of a configuration
        self._seed = seed
        self._not_this_one = not_this_one

    def install(self):
        tuning = self
        Autotuner.run = lambda tuner, *args, **kwargs: tuning.run(tuner, args, kwargs)

    def run(self, tuner, args, kwargs):
        tuner.nargs = dict(zip(tuner.arg_names, args))
        key = _key(tuner, args, kwargs)
        config = tuner.cache.get(key)
        if config is not None:
            return _launch(tuner, config, args, kwargs)
        several = len(tuner.configs) > 1
        configs = tuner.prune_configs(kwargs) if several else list(tuner.configs)
        random.Random(f"{self._seed} {tuner.base_fn.__name__} {key}").shuffle(configs)
        for number, config in enumerate(configs):
            if several:
                tuner.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()}, reset_only=True)
            self.choosing = several
            try:
                value = _launch(tuner, config, args, kwargs)
            except self._not_this_one:
                if number + 1 == len(configs):
                    raise
                continue
            finally:
                self.choosing = False
            tuner.cache[key] = config
            return value
        raise RuntimeError("autotune: no configuration is left")


def _launch(tuner, config, args, kwargs):
    tuner.nargs = dict(zip(tuner.arg_names, args))
    tuner.best_config = config
    chosen = config.all_kwargs()
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **chosen})
    value = tuner.fn.run(*args, **kwargs, **chosen)
    tuner.nargs = None
    return value


def _key(tuner, args, kwargs):
    given = {**dict(zip(tuner.arg_names, args)), **kwargs}
    words = [str(given[name]) for name in tuner.keys if name in given]
    words += [str(value.dtype) for name, value in given.items() if name in tuner.arg_names and hasattr(value, "dtype")]
    return tuple(words)
