"""The files that a script reaches through the Objective-C bridge: those of a simulated world.

The disk is the `startupDisk` of Finder's world, or of the first other app that has one; nothing of
this computer is read or written. The text of a file is its `@content`.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from iac_simulator.errors import EventRefusedError
from iac_simulator.world import AppWorld, Data

CONTENT: Final = "@content"
_LISTS: Final = ("folders", "files")
_NOT_FOUND: Final = -43


def handle_disk_request(
    worlds: Mapping[str, AppWorld], request: Mapping[str, Any], now: str
) -> Any:
    """Carry out a request: `does` is a key of the table below, `path` absolute, `to` by verb.

    Return None where there is no such file or folder, or something is in the way.

    Raises:
        EventRefusedError: -43: no app of these has a disk.
    """
    worlds_ = sorted(worlds, key=lambda key: key != "finder")
    disks = (worlds[key].data.get("startupDisk") for key in worlds_)
    root = next((disk for disk in disks if isinstance(disk, dict) and "name" in disk), None)
    if root is None:
        raise EventRefusedError(_NOT_FOUND)
    path = PurePosixPath(request["path"])
    found = _VERBS[request["does"]](root, path, request.get("to"))
    if request["does"] in ("write", "folder") and found:
        _find_node(root, path)["modificationDate"] = {"date": now}  # type: ignore[index]
    return found


def _child_nodes(node: Data) -> Iterator[tuple[list[Any], Data]]:
    for value in node.values():
        if isinstance(value, list):
            yield from ((value, child) for child in value if isinstance(child, dict))


def _find_node(root: Data, path: PurePosixPath) -> Data | None:
    node: Data | None = root
    for part in path.parts[1:]:
        held = _child_nodes(node) if node is not None else ()
        node = next((child for _, child in held if child.get("name") == part), None)
    return node


def _is_folder(node: Data | None) -> bool:
    return node is not None and CONTENT not in node and "@class" not in node


def _node_kind(root: Data, path: PurePosixPath, _to: Any) -> str | None:
    node = _find_node(root, path)
    return None if node is None else "folder" if _is_folder(node) else "file"


def _child_names(root: Data, path: PurePosixPath, _to: Any) -> list[str] | None:
    node = _find_node(root, path)
    return [child["name"] for _, child in _child_nodes(node)] if node and _is_folder(node) else None


def _read_file(root: Data, path: PurePosixPath, _to: Any) -> str | None:
    node = _find_node(root, path)
    return None if node is None or _is_folder(node) else str(node.get(CONTENT, ""))


def _add_node(root: Data, path: PurePosixPath, node: Data) -> bool:
    """Put a file or folder at a path whose folder is there and which is free."""
    holder = _find_node(root, path.parent)
    if holder is None or not _is_folder(holder) or _find_node(root, path) is not None:
        return False
    kind = "folders" if _is_folder(node) else "files"
    holder.setdefault(kind, []).append({**node, "name": path.name})
    return True


def _write_file(root: Data, path: PurePosixPath, text: Any) -> bool | None:
    node = _find_node(root, path)
    if node is None:
        made = {CONTENT: text, "@class": "document file", "size": len(text.encode())}
        return _add_node(root, path, made) or None
    if _is_folder(node):
        return None
    node.update({CONTENT: text, "size": len(text.encode())})
    return True


def _make_folder(root: Data, path: PurePosixPath, whole: Any) -> bool | None:
    """Make a folder; with `whole` those around it too, and one that is there is well."""
    if whole and _find_node(root, path) is not None:
        return _is_folder(_find_node(root, path)) or None
    if whole:
        _make_folder(root, path.parent, whole)
    return _add_node(root, path, {}) or None


def _remove_node(root: Data, path: PurePosixPath, _to: Any) -> bool | None:
    holder, node = _find_node(root, path.parent), _find_node(root, path)
    if holder is None or node is None or node is root:
        return None
    for items, child in _child_nodes(holder):
        if child is node:
            items[:] = [other for other in items if other is not node]
            return True
    return None


def _copy_node(root: Data, path: PurePosixPath, to: Any) -> bool | None:
    node = _find_node(root, path)
    return (node is not None and _add_node(root, PurePosixPath(to), copy.deepcopy(node))) or None


def _move_node(root: Data, path: PurePosixPath, to: Any) -> bool | None:
    return (_copy_node(root, path, to) and _remove_node(root, path, None)) or None


_VERBS: Final[Mapping[str, Callable[[Data, PurePosixPath, Any], Any]]] = {
    "kind": _node_kind,
    "names": _child_names,
    "read": _read_file,
    "write": _write_file,
    "folder": _make_folder,
    "remove": _remove_node,
    "copy": _copy_node,
    "move": _move_node,
}
