"""Where there is no POSIX (Windows) every module is imported too: what POSIX alone has stands behind guards."""

import subprocess
import sys

import pytest

WITHOUT = """
import builtins, importlib, io, os, pathlib, pkgutil, sys

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None  # to import it raises ImportError
for name in ("fork", "setsid", "killpg", "getuid", "sched_getaffinity", "posix_fadvise", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)

def guarded(real):
    def open_(path, *rest, **how):
        if str(path).startswith("/proc"):
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
@pytest.mark.parametrize(("package", "least"), [("deepmech", 50), ("deepmech_book", 50)])
def test_every_module_is_imported_without_posix(package, least):
    done = subprocess.run([sys.executable, "-c", WITHOUT, package], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= least, "modules were not found"


def test_a_module_that_needs_posix_would_be_noticed(tmp_path, monkeypatch):
    (tmp_path / "needy").mkdir()
    (tmp_path / "needy" / "__init__.py").write_text("import fcntl\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", WITHOUT, "needy"], capture_output=True, text=True)
    assert done.returncode and "fcntl" in done.stderr
