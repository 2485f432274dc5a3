"""Tools that work with any app, of interfaces and scripts: what people say for them, as data.

They have no dictionary whose words they could be found by. Everyday English, written for this
project; order has no meaning.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["MARKS", "SAID"]

SAID: Final[Mapping[str, str]] = {
    "click_menu": "bar choose command item menu open pick select submenu",
    "find_element": "button control field find interface label link locate toolbar where",
    "get_focused_element": "caret control cursor field focus keyboard typing",
    "get_ui_tree": (
        "buttons controls describe dialog dump fields interface labels layout like look looks "
        "outline read says screen text toolbar window words"
    ),
    "list_windows": "minimized open position screen size where window windows",
    "observe_changes": (
        "appears button changed changes dialog disappears happens monitor notice notify pops "
        "progress screen title ui until value wait watch when window"
    ),
    "perform_action": (
        "button check checkbox click collapse control dialog disclosure dismiss expand hit icon "
        "link popup press push radio select tab tap tick triangle uncheck untick"
    ),
    "set_value": (
        "address box checkbox drag enter field fill form put search slider text type value write"
    ),
    "analyze_failure": (
        "applescript cause code debug error explain fail failed failing fix mean number "
        "osascript script why work wrong"
    ),
    "discover_capabilities": "capabilities overview scripts",
    "execute_applescript": "automate bit code evaluate execute javascript jxa osascript run script",
    "get_app_dictionary": "classes commands dictionary properties scripting sdef terms understand",
    "get_app_skill": "app automate guide scripting tips traps tricks",
    "get_learning_stats": "failed learned often scripts statistics succeeded",
    "get_smart_suggestion": "advise approach automate best recommend suggest way",
    "get_system_state": (
        "app appearance apps battery displays front mac machine network once running state "
        "system volume wifi"
    ),
    "get_workflow_pattern": "again before done earlier last pattern script time worked",
    "list_scriptable_apps": "applescript apps automated programs scriptable scripted understand",
    "validate_applescript": (
        "check compile correct dangerous safe script syntax test valid validate"
    ),
}
"""The words of each tool, by its name."""

MARKS: Final = """\
accessibility applescript battery button caret checkbox click control cursor dialog dictionary
dropdown element field focus form icon interface jxa link menu menubar osascript popover popup
press radio screen script scriptable scripting sdef slider stepper tap textbox tick toolbar
triangle ui uncheck untick wifi window
"""
"""Words that speak for such a tool: what is seen on a screen, and scripts as such."""
