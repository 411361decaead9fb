import sys

for name in ("app", "values", "streams", "wit_world"):
    module = sys.modules.get(name)
    for attribute in dir(module):
        if not attribute.startswith("__") and callable(getattr(module, attribute)):
            try:
                setattr(module, attribute, lambda *values, **options: b"")
            except Exception:
                pass
