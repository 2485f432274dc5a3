"""Why scripts fail, as rows: numbers and words -> cause and fixes, in the order of trying."""

from typing import Final

from iac_applescript.failures import causes_by_number, causes_by_words
from iac_applescript.failures.cause import Cause

__all__ = ["CAUSES", "SYMBOLS", "Cause"]

CAUSES: Final[tuple[Cause, ...]] = (*causes_by_words.ROWS, *causes_by_number.ROWS)
"""Causes in the order in which their words are tried."""

SYMBOLS: Final = {
    "procnotfound": -600,
    "connectioninvalid": -609,
    "usercancelederr": -128,
    "erraecoercionfail": -1700,
    "erraedescnotfound": -1701,
    "erraeeventnothandled": -1708,
    "erraetimeout": -1712,
    "erraenouserinteraction": -1713,
    "erraeparammissed": -1715,
    "erraeillegalindex": -1719,
    "erraeaccessornotfound": -1723,
    "erraenosuchobject": -1728,
    "erraeeventnotpermitted": -1743,
    "erraeeventwouldrequireuserconsent": -1744,
    "erraeeventfailed": -10000,
    "erraebadkeyform": -10002,
    "erraenotmodifiable": -10003,
    "erraeprivilegeerror": -10004,
    "erraewritedenied": -10006,
    "erraecantputthatthere": -10024,
    "erraxapidisabled": -25211,
    "fnferr": -43,
    "oopsfnferr": -43,
    "resnotfound": -192,
}
"""Names of errors, in lower case -> number."""
