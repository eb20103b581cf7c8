"""Modules of the package import each other in one direction."""
import ast
import pathlib

import halocline


def test_modules_have_no_circles():
    folder = pathlib.Path(halocline.__file__).parent
    names = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    imports = {}
    for name in names:
        nodes = [node for node in ast.walk(ast.parse((folder / f"{name}.py").read_text())) if isinstance(node, ast.ImportFrom) and node.level == 1]
        imports[name] = {node.module for node in nodes if node.module} | {each.name for node in nodes if not node.module for each in node.names}
        imports[name] &= names
    while leaves := {name for name, wanted in imports.items() if not wanted}:
        imports = {name: wanted - leaves for name, wanted in imports.items() if name not in leaves}
    assert not imports, f"these modules import each other: {imports}"
