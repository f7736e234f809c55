"""Has the virtual environment find the packages below a directory of this checkout."""

import pathlib
import sys
import sysconfig

source = pathlib.Path(sys.argv[1]).resolve()
pathlib.Path(sysconfig.get_path("purelib"), "sample.pth").write_text(f"{source}\n")
