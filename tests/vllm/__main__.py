"""`python -m tests.vllm`: install a vLLM for the CPU where there is none, and run what needs one.

`LOREGLASS_VLLM_HOME` (default: var/vllm) is where it is installed: about 5 GB, 2 minutes.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.vllm.environment import Unavailable, VllmEnvironment

_HERE = Path(__file__).parent


def main(words: list[str]) -> int:
    """pytest's exit status; 0 with a clear line where vLLM cannot be installed."""
    home = Path(os.environ.get("LOREGLASS_VLLM_HOME", "var/vllm")).absolute()
    sys.stderr.write(f"A real vLLM, in {home}:\n")
    try:
        VllmEnvironment(home).make()
    except Unavailable as reason:
        sys.stderr.write(f"SKIPPED: no vLLM here, so nothing was tested: {reason}.\n")
        return 0
    line = [sys.executable, "-m", "pytest", str(_HERE), "-s", "-v", *words]
    return subprocess.run(line, env=os.environ | {"LOREGLASS_VLLM_HOME": str(home)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
