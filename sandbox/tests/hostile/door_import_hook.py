# expect: raised Trap
import importlib.machinery
import sys

sys.path.append("/")
sys.path_hooks.append(importlib.machinery.FileFinder.path_hook((importlib.machinery.SourceFileLoader, [".py"])))
sys.meta_path.append(importlib.machinery.PathFinder)

import passwd
