"""The toy's model in the shapes that tests on a GPU need."""

import json
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]


def with_heads_of_64(folder):
    """The toy's model with heads for which products=engine is."""
    shutil.copytree(ROOT / "configs/tiny_model", folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "head_dim": 64}))
    return folder
