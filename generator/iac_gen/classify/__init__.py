"""The levels of tools, decided from codes, apps, access and words."""

from iac_gen.classify.evidence import LevelJudgment, LevelVerdict, highest_verdict
from iac_gen.classify.judge import (
    facts_with_stated_level,
    judge_command,
    judge_delete,
    judge_make,
    judge_setter,
    level_when_made,
)

__all__ = [
    "LevelJudgment", "LevelVerdict", "facts_with_stated_level", "highest_verdict", "judge_command",
    "judge_delete", "judge_make", "judge_setter", "level_when_made",
]  # fmt: skip
