"""Where there is no POSIX (Windows) every module is imported too: what POSIX alone has stands behind guards."""

import subprocess
import sys

import pytest

WITHOUT = """
import builtins, importlib, io, os, pathlib, pkgutil, sys
import psutil  # has a half of its own for each system

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None  # to import it raises ImportError
for name in ("fork", "setsid", "killpg", "getuid", "sched_getaffinity", "posix_fadvise", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)

def guarded(real):
    def open_(path, *rest, **how):
        if str(path).startswith("/proc") and not sys._getframe(1).f_globals["__name__"].startswith("psutil"):
            raise FileNotFoundError(path)
        return real(path, *rest, **how)
    return open_

builtins.open, io.open = guarded(builtins.open), guarded(io.open)
seen = 0
for top in sys.argv[1:]:
    package = importlib.import_module(top)
    for module in pkgutil.walk_packages(package.__path__, f"{top}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            seen += 1
print(seen)
"""


@pytest.mark.slow
def test_every_module_is_imported_without_posix():
    done = subprocess.run([sys.executable, "-c", WITHOUT, "deepmech", "deepmech_book"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= 100, "modules were not found"
