# Loading of a candidate's or a problem's Python source.
import ast
import atexit
import importlib
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import tempfile

import _paritybench_helpers  # noqa: F401  loaded sources import it, where its folder is not seen


class BadSetting(Exception):
    """A constant to replace does not exist, or its new value is no literal."""


def work_folder():
    """A new folder for source files: tracebacks, inspect.getsource and Triton read them again.

    Gone when the interpreter ends (a sandbox's folder goes with the sandbox).
    """
    places = [os.environ.get("TMPDIR"), "/work", tempfile.gettempdir()]
    for place in places:
        if place and os.path.isdir(place) and os.access(place, os.W_OK):
            folder = tempfile.mkdtemp(prefix="source-", dir=place)
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            return folder
    raise OSError(f"none of {', '.join(p for p in places if p)} can be written")


def is_loaded(path):
    """Whether a file stands in a work folder: it is a candidate's or a problem's."""
    return "/source-" in path


def name_of(path):
    """The file's path below its work folder."""
    return path.rpartition("/source-")[2].partition("/")[2]


def write_files(folder, files, content):
    """Writes files ([{"path", "size"}]), whose bytes stand one after the other in content."""
    start = 0
    for item in files:
        path = os.path.normpath(os.path.join(folder, item["path"]))
        if not path.startswith(folder + os.sep):
            raise ValueError(f"the path {item['path']!r} leaves the candidate's folder")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content[start : start + item["size"]])
        start += item["size"]


def load(path, settings=(), root=None):
    """Runs the file as a new module and returns it. Files beside it and below root can be imported.

    settings: [[name, literal]]: module-level constants to replace before the module runs, so that
    constants computed from them follow.
    root: the folder of all sources, by default that of the file. A file with relative imports is a
    module of a package that is this folder.
    """
    root = root or os.path.dirname(path)
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), filename=path)
    for name, literal in settings:
        replace_constant(tree, name, literal)
    code = compile(tree, path, "exec", dont_inherit=True)
    stem = os.path.splitext(os.path.basename(path))[0]
    name = stem if stem.isidentifier() and stem not in sys.modules else f"source_{stem}"
    for folder in dict.fromkeys([root, os.path.dirname(path)]):
        sys.path.insert(0, folder)
    if any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree)):
        name = f"{_package_above(path, root)}.{stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def _package_above(path, root):
    """The name of the package that the file's folder is, below a package that is the root."""
    top = f"sources_{len(sys.modules)}"
    start = os.path.join(root, "__init__.py")
    if os.path.exists(start) and start != path:
        spec = importlib.util.spec_from_file_location(top, start, submodule_search_locations=[root])
    else:
        spec = importlib.machinery.ModuleSpec(top, None, is_package=True)
        spec.submodule_search_locations = [root]
    package = importlib.util.module_from_spec(spec)
    sys.modules[top] = package
    if spec.loader is not None:
        spec.loader.exec_module(package)
    between = os.path.relpath(os.path.dirname(path), root)
    name = top if between == "." else ".".join([top, *between.split(os.sep)])
    importlib.import_module(name)
    return name


def replace_constant(tree, name, literal):
    """Gives every module-level assignment to name another value. BadSetting where there is none."""
    known = []
    found = False
    for statement in tree.body:
        for target, holder, key in _assignments(statement):
            known.append(target)
            if target == name:
                value = _parse_literal(name, literal)
                old = holder[key] if isinstance(key, int) else getattr(holder, key)
                for node in ast.walk(value):
                    ast.copy_location(node, old)
                if isinstance(key, int):
                    holder[key] = value
                else:
                    setattr(holder, key, value)
                found = True
    if not found:
        names = ", ".join(dict.fromkeys(known)) or "none"
        raise BadSetting(f"there is no constant {name} to replace; the file has: {names}")


def _parse_literal(name, literal):
    try:
        value = ast.parse(literal.strip(), mode="eval").body
        ast.literal_eval(value)
    except (SyntaxError, ValueError) as error:
        raise BadSetting(f"{name}={literal}: not a Python literal") from error
    return value


def _assignments(statement):
    """(name, holder, key) for each plain name that a statement assigns; holder.key is the value."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        if isinstance(statement.target, ast.Name):
            yield statement.target.id, statement, "value"
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        if isinstance(target, ast.Name):
            yield target.id, statement, "value"
        pair = isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple)
        if pair and len(target.elts) == len(statement.value.elts):
            for i, element in enumerate(target.elts):
                if isinstance(element, ast.Name):
                    yield element.id, statement.value.elts, i
