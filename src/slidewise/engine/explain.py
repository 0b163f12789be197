"""A plan in words."""

from __future__ import annotations

from slidewise.engine.output import Output
from slidewise.engine.plan import Plan


def explain_plan(plan: Plan) -> str:
    """What is arranged, and per output its window, mode, algorithm and the reason."""
    order = f"ordered by {', '.join(plan.order)}" if plan.order else "taken as they come"
    groups = f"grouped by {', '.join(plan.by)}" if plan.by else "one group"
    return "\n".join([f"rows: {order}, {groups}", *(explain_output(output) for output in plan.outputs)])


def explain_output(output: Output) -> str:
    """One output's window, speed, algorithm, and why."""
    if output.choice.numbers:
        speed = "compiled"
    elif output.ops.compiled:
        speed = f"compiled (partial: {', '.join(output.ops.fields)})"
    else:
        speed = f"object mode ({output.ops.why})"
    algorithm = output.choice.structure.card.name
    if output.choice.blocked or output.choice.tree:
        algorithm = "blocked scans" if output.choice.blocked else "aggregation tree"
    if output.choice.numbers:
        algorithm = {"ranked": "ranked sets", "distinct": "linked rows"}[output.choice.numbers]
    return f"{output.name}: {output.window!r}, {speed}, {algorithm}: {output.choice.reason}"
