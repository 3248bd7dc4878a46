"""Votes with a known truth."""

from jamrank.simulation.tastes import Effect, Tastes
from jamrank.simulation.votes import Simulation, simulate

__all__ = ["Effect", "Simulation", "Tastes", "simulate"]
