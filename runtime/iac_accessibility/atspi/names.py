"""What the numbers of AT-SPI stand for. Source: at-spi2-core, atspi-constants.h (role, state)."""

from typing import Final

from iac_accessibility.roles import role_name

__all__ = ["ATSPI", "CACHE_PATH", "PROPERTIES", "ROLES", "ROOT_PATH", "STATES", "bit"]

ATSPI: Final = "org.a11y.atspi."
PROPERTIES: Final = "org.freedesktop.DBus.Properties"
ROOT_PATH: Final = "/org/a11y/atspi/accessible/root"
CACHE_PATH: Final = "/org/a11y/atspi/cache"

ROLES: Final = tuple(
    role_name(name)
    for name in (
        "unknown accelerator-label alert animation arrow calendar canvas check-box check-menu-item"
        " color-chooser column-header combo-box date-editor desktop-icon desktop-frame dial dialog"
        " directory-pane drawing-area file-chooser filler focus-traversable font-chooser frame"
        " glass-pane html-container icon image internal-frame label layered-pane list list-item"
        " menu menu-bar menu-item option-pane page-tab page-tab-list panel password-text"
        " popup-menu progress-bar push-button radio-button radio-menu-item root-pane row-header"
        " scroll-bar scroll-pane separator slider spin-button split-pane status-bar table"
        " table-cell table-column-header table-row-header tearoff-menu-item terminal text"
        " toggle-button tool-bar tool-tip tree tree-table unknown viewport window extended header"
        " footer paragraph ruler application autocomplete editbar embedded entry chart caption"
        " document-frame heading page section redundant-object form link input-method-window"
        " table-row tree-item document-spreadsheet document-presentation document-text"
        " document-web document-email comment list-box grouping image-map notification info-bar"
        " level-bar title-bar block-quote audio video definition article landmark log marquee math"
        " rating timer static math-fraction math-root subscript superscript description-list"
        " description-term description-value footnote content-deletion content-insertion mark"
        " suggestion push-button-menu"
    ).split()
)
"""Role number -> name."""

STATES: Final = {
    "active": 1,
    "checked": 4,
    "defunct": 6,
    "editable": 7,
    "expanded": 10,
    "focusable": 11,
    "focused": 12,
    "minimized": 15,
    "modal": 16,
    "multi_line": 17,
    "pressed": 20,
    "selected": 23,
    "enabled": 24,
    "showing": 25,
    "visible": 30,
    "default": 39,
    "read_only": 43,
}
"""State -> bit in the two words that GetState answers with."""


def bit(states: int, name: str) -> bool:
    """Say whether a state is among the bits."""
    return bool(states >> STATES[name] & 1)
