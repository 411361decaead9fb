"""Copies what programs can use of numpy, without its documentation: `package.py INSTALLED TARGET`.

Left out are tests, headers, types for checkers, f2py and what numpy tests itself by. Texts of documentation become
empty, not absent: some of numpy takes them apart when it is imported.
"""

import ast
import os
import re
import shutil
import sys

LEFT_OUT = re.compile(
    r"(.*/)?(tests|f2py|distutils|_pyinstaller|ctypeslib|__pycache__|_core/include|_core/lib|random/lib)(/.*)?"
    r"|_core/cversions\.py|typing/mypy_plugin\.py|testing/print_coercion_tables\.py|_core/(_\w+_tests|_simd)\..*|linalg/lapack_lite\..*|(.*/)?conftest\.py|_configtool\.py|.*/_examples/.*"
)
KEPT = (".py", ".so")
# Documentation of what is written in C. Python reads its signatures from the first lines of these texts.
TEXTS = ("_core/_add_newdocs.py", "_core/_add_newdocs_scalars.py")
END_OF_SIGNATURE = "--\n\n"


class WithoutDocumentation(ast.NodeTransformer):
    def generic_visit(self, node):
        super().generic_visit(node)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None:
            node.body[0].value.value = ""
        return node

    def visit_Assert(self, node):
        """What documentation must say is not asked."""
        return ast.Pass() if "__doc__" in ast.unparse(node) else node


class SignaturesAlone(ast.NodeTransformer):
    def visit_Constant(self, node):
        if isinstance(node.value, str) and "\n" in node.value:
            signature, end, _ = node.value.partition(END_OF_SIGNATURE)
            # The signature is read where text follows it.
            node.value = f"{signature}{end}." if end else ""
        return node


def without_documentation(source, are_texts):
    tree = WithoutDocumentation().visit(ast.parse(source))
    return ast.unparse(SignaturesAlone().visit(tree) if are_texts else tree)


def main(installed, target):
    for folder, inner, names in os.walk(installed):
        inner.sort()
        inside = os.path.relpath(folder, installed)
        for name in sorted(names):
            path = os.path.normpath(f"{inside}/{name}")
            if LEFT_OUT.fullmatch(path) or not name.endswith(KEPT):
                continue
            os.makedirs(os.path.dirname(f"{target}/{path}"), exist_ok=True)
            if name.endswith(".so"):
                shutil.copy(f"{folder}/{name}", f"{target}/{path}")
                continue
            with open(f"{folder}/{name}") as file:
                source = without_documentation(file.read(), path in TEXTS)
            with open(f"{target}/{path}", "w") as file:
                file.write(source + "\n")


main(*sys.argv[1:])
