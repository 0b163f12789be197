"""A plan in words."""

from __future__ import annotations

from textwrap import indent

from slidewise.engine.composite import shared_plan
from slidewise.engine.framing import Framer
from slidewise.engine.output import Output
from slidewise.engine.plan import Plan
from slidewise.engine.policies import Enforcer
from slidewise.engine.shared import Shared, shared_work
from slidewise.frames.kind import Frame
from slidewise.sharing.events import SLICE
from slidewise.windows.policy import Adwin, DataWindow

FEW = 12
"""Outputs that are named where they share."""


def explain_plan(plan: Plan) -> str:
    """What is arranged, what each slide policy does, and per output its window, mode, algorithm and the reason."""
    order = f"ordered by {', '.join(plan.order)}" if plan.order else "taken as they come"
    groups = f"grouped by {', '.join(plan.by)}" if plan.by else "one group"
    policies = [explain_policy(plan, window) for window in plan.windows if isinstance(window, DataWindow)]
    policies += [explain_frames(plan, window) for window in plan.windows if isinstance(window, Frame)]
    shared = [explain_shared(plan, one) for one in shared_work(plan)[0]]
    outputs = [explain_output(output) for output in plan.outputs]
    return "\n".join([f"rows: {order}, {groups}", *policies, *outputs, *shared])


def explain_shared(plan: Plan, shared: Shared) -> str:
    """Which outputs of which windows are answered from the same slices; with a step, the plan that cuts them."""
    outputs = [output.name for members in shared.members for output in members]
    few = f"{', '.join(outputs[:FEW])}{f' and {len(outputs) - FEW} more' if len(outputs) > FEW else ''}"
    cut = f"slices of {SLICE} rows" if plan.per_event else "slices as below"
    said = (
        f"shared: {few}: {len(shared.windows)} windows, each row lifted once "
        f"(partial: {', '.join(shared.ops.fields)}), {cut} that all of them take, flatfit over whole slices"
    )
    return said if plan.per_event else f"{said}\n{indent(str(shared_plan(plan, shared)), '  ')}"


def explain_policy(plan: Plan, window: DataWindow) -> str:
    """What a policy uses, at which speed, and how it is enforced."""
    enforcer = Enforcer(plan, window)
    speed = f"object mode ({enforcer.why})"
    if not enforcer.why:
        speed = f"compiled (partial: {', '.join(enforcer.code.ops.fields)})"
    search = "amta finds the longest prefix that leaves in O(log n) looks"
    if isinstance(window, Adwin):
        search = "amta cuts the window at O(log n) places and compares the means of older and newer events"
    return f"policy: {window!r}, {speed}: after each event {search}; answers are swept over what stays"


def explain_frames(plan: Plan, window: Frame) -> str:
    """What cuts the frames, at which speed."""
    framer = Framer(plan, window)
    speed = f"object mode ({framer.why or 'its columns are not machine numbers'})"
    if framer.code.compiled:
        speed = f"compiled (state: {', '.join(framer.code.fields)})"
    where = "every row is in a frame" if window.whole else "rows between frames are in none"
    return f"frames: {window!r}, {speed}: one step per row, {where}; answers are swept over each frame"


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
