"""Simulated apps and an osascript stand-in, built from the tables of generated modules."""

from iac_simulator.desk import SentEvent
from iac_simulator.errors import StateError
from iac_simulator.simulator import Simulator

__all__ = ["SentEvent", "Simulator", "StateError"]
