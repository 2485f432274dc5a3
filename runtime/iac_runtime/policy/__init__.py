"""Whether a call may run: levels from arguments, the user's policy, questions, approvals."""
