"""What the library offers at its front door."""

import subprocess
import sys

import pytest

import deepmech
from deepmech import trainers
from deepmech.simulators import spring_block


@pytest.mark.parametrize("package", [deepmech, trainers])
def test_every_public_name_is_there(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert set(package.__all__) - {"__version__"} <= set(dir(package))
    with pytest.raises(AttributeError, match="tran"):
        package.tran  # noqa: B018


def test_the_front_door_imports_nothing_until_it_is_asked():
    said = "import sys, deepmech; print([name for name in ('numpy', 'torch', 'xarray') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_explorer_of_the_chain_does_without_torch(tmp_path):
    said = "import sys; from deepmech import cli; cli.main(sys.argv[1:]); print('torch' in sys.modules)"
    command = [sys.executable, "-c", said, "explore", "chain", "--no-browser", "--output", tmp_path / "chain.html"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1] == "False"


def test_one_simulate_takes_every_spec():
    chain = deepmech.Chain(n_blocks=3, noise=0.1)
    assert deepmech.simulate(chain, t_end=1.0).equals(spring_block.simulate(chain, t_end=1.0))
    pulled = deepmech.simulate(deepmech.Ruler(n_pairs=3), deepmech.Pull(duration=5.0), n_frames=2)
    assert pulled.sizes["frame"] == 2
    with pytest.raises(ValueError, match="spec of type dict: must be one of Chain"):
        deepmech.simulate({})
