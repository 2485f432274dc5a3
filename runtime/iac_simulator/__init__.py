"""Simulated apps and an osascript stand-in, built from the tables of generated modules."""

from iac_simulator.engine import MissingEngineError
from iac_simulator.errors import StateError
from iac_simulator.scenario import FaultScenario, InjectedFault, parse_profile, read_scenario
from iac_simulator.simulator import Simulator
from iac_simulator.state import StateChange, StateDifference, difference
from iac_simulator.values import SentEvent

__all__ = [
    "FaultScenario",
    "InjectedFault",
    "MissingEngineError",
    "SentEvent",
    "Simulator",
    "StateChange",
    "StateDifference",
    "StateError",
    "difference",
    "parse_profile",
    "read_scenario",
]
