"""Reading, listing and generating data needs no torch; importing the modules needs only numpy."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[3]
HEAVY = "('torch', 'torchvision', 'sklearn', 'scipy', 'PIL', 'matplotlib')"


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()


def test_data_modules_import_no_heavy_packages_and_loading_the_offline_task_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys, core.data.download; from pathlib import Path; from core import resolve;"
        "from core.data import load, synthetic;"
        f"print([name for name in {HEAVY} if name in sys.modules]);"
        "synthetic.DEFAULT_SIZES = (30, 10); load.load_task(resolve(task='Y->D'), Path(sys.argv[1]));"
        "print('torch' in sys.modules)"
    )
    assert run(program, str(tmp_path)).split() == ["[]", "False"]


def test_torchvision_can_be_imported() -> None:
    program = (
        "from core.data.torchvision_import import torchvision; "
        "print(torchvision() is torchvision(), torchvision().datasets.MNIST)"
    )
    assert run(program).startswith("True")
