"""Builds what a wheel has and nobody commits: the index by which tools are found."""

import importlib.util
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SearchIndexHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the index of the committed tools into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the index; an editable install makes its own on first need."""
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "runtime"))
        # Alone, because its package needs what is not installed where a wheel is built.
        path = root / "runtime" / "iac_runtime" / "search" / "index_file.py"
        spec = importlib.util.spec_from_file_location("index_file", path)
        assert spec is not None
        assert spec.loader is not None
        index_file = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(index_file)
        tools = root / "generated" / "iac_tools"
        # It goes with the hook, when the wheel is written.
        self._folder = TemporaryDirectory()
        made = Path(self._folder.name) / index_file.INDEX
        made.write_text("".join(index_file.index_lines((tools / index_file.WORDS).read_bytes())))
        build_data["force_include"][str(made)] = f"iac_tools/{index_file.INDEX}"
