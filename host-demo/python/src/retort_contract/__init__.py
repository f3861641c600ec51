"""Raw database driver error in, safe public error envelope out.

    from retort_contract import contract

    @server.tool()
    @contract.tool(effect="write")
    async def add_order(customer: int, amount: int) -> str: ...

`contract` is a contract with default settings; a host with its own makes a `Contract`.
"""

from . import raw
from ._contract import Contract
from ._engine import ComponentFault
from .capture import capture
from .errors import (
    AuthError,
    ConflictError,
    NotFoundError,
    QueryError,
    RetortError,
    UnknownOutcomeError,
    check,
)
from .memory import AttemptMemory, Attempts, Past, RetryBudget
from .operation import CommitRolledBack, ConditionError, Operation, current
from .verdict import (
    Argument,
    Category,
    CodeRow,
    Decision,
    Envelope,
    Finding,
    Fingerprint,
    Outcome,
    Redaction,
    Verdict,
)

contract = Contract()
"""A contract with default settings."""

__all__ = [
    "Argument",
    "AttemptMemory",
    "Attempts",
    "AuthError",
    "Category",
    "CodeRow",
    "CommitRolledBack",
    "ComponentFault",
    "ConditionError",
    "ConflictError",
    "Contract",
    "Decision",
    "Envelope",
    "Finding",
    "Fingerprint",
    "NotFoundError",
    "Operation",
    "Outcome",
    "Past",
    "QueryError",
    "Redaction",
    "RetortError",
    "RetryBudget",
    "UnknownOutcomeError",
    "Verdict",
    "capture",
    "check",
    "contract",
    "current",
    "raw",
]
