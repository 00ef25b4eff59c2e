"""How jupyter_client gets a kernel that :mod:`~deepmech_book.press.kernels` has forked; named by an entry point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from deepmech_book.press import kernels


class Forked(LocalProvisioner):
    """Lets the waiting process become the kernel; all else (ports, signals, ending it) is jupyter_client's."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        # The kernel's own guard compares its parent with this; ours watches a pipe.
        environment = {name: value for name, value in kwargs["env"].items() if name != "JPY_PARENT_PID"}
        process = kernels.waiting()
        process.become(cmd[cmd.index("-f") + 1], environment)
        self.process = process  # type: ignore[assignment]
        self.pid = self.pgid = process.pid  # it leads a process group of its own
        self.cwd = Path.cwd()
        return self.connection_info
