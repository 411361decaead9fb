"""Answers what meson asks of a Python, as the guest's own would answer it: `python_info.py HEADERS`."""

import json
import sys

HEADERS = sys.argv[1]
PATHS = {
    "purelib": "/lib/python3.14/site-packages",
    "platlib": "/lib/python3.14/site-packages",
    "stdlib": "/lib/python3.14",
    "platstdlib": "/lib/python3.14",
    "include": "/include/python3.14",
    "platinclude": "/include/python3.14",
    "scripts": "/bin",
    "data": "",
}
VARIABLES = {"EXT_SUFFIX": ".cpython-314-wasm32-wasi.so", "Py_GIL_DISABLED": 0, "base_prefix": "/usr", "LIBPC": ""}

print(
    json.dumps(
        {
            "variables": VARIABLES | dict.fromkeys(("INCLUDEPY", "CONFINCLUDEPY"), HEADERS) | {"LIBDIR": "", "LIBPYTHON": ""},
            "paths": PATHS,
            "sysconfig_paths": PATHS | {"include": HEADERS, "platinclude": HEADERS},
            "install_paths": PATHS,
            "version": "3.14",
            "platform": "wasi-wasm32",
            "is_pypy": False,
            "is_venv": False,
            "is_freethreaded": False,
            "link_libpython": False,
            "suffix": ".cpython-314-wasm32-wasi.so",
            "limited_api_suffix": ".abi3.so",
        }
    )
)
