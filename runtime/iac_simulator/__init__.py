"""Simulated apps and an osascript stand-in, built from the tables of generated modules."""

from iac_simulator.desk import SentEvent
from iac_simulator.difference import Change, Difference, difference
from iac_simulator.engine import MissingEngineError
from iac_simulator.errors import StateError
from iac_simulator.scenario import Fault, Scenario, read_scenario
from iac_simulator.simulator import Simulator

__all__ = [
    "Change",
    "Difference",
    "Fault",
    "MissingEngineError",
    "Scenario",
    "SentEvent",
    "Simulator",
    "StateError",
    "difference",
    "read_scenario",
]
