"""The frame around the panels: page, style and legend. Colours follow the reader's light or dark setting."""

from __future__ import annotations

from string import Template
from typing import Final

__all__ = ["LEGEND", "PAGE"]

_KEYS: Final = (
    ("reading", "M2 10L7 5L11 13L16 4L20 11L26 7", "power, phase A"),
    ("mean", "M2 9H26", "mean, 5 s"),
    ("band", "M2 4H26V14H2Z", "± one standard deviation, 5 s"),
    ("max", "M2 9H26", "maximum, 5 s"),
    ("jump", "M2 14L8 6L14 11L20 4L26 9V14Z", "largest jump, 1 s (user-defined)"),
    ("late", "M8 5v8M14 5v8M20 5v8", "arrived late, counted all the same"),
)

LEGEND: Final = "".join(
    f'<span><svg viewBox="0 0 28 18" aria-hidden="true"><path class="{style}" d="{shape}"/></svg>{label}</span>'
    for style, shape, label in _KEYS
)

_STYLE: Final = """
:root { color-scheme: light dark;
  --paper: #faf9f6; --card: #ffffff; --ink: #1d2127; --soft: #667080; --rule: #e6e4de; --edge: #dcd9d1;
  --reading: #8d97a5; --mean: #1f5fd0; --max: #c2410c; --jump: #0f766e; --late: #a21caf;
  --surge: #dc2626; --dropout: #b7791f; --stuck: #7c3aed; --off: #667080; --good: #15803d }
@media (prefers-color-scheme: dark) { :root {
  --paper: #0f1216; --card: #171b21; --ink: #e8eaee; --soft: #97a1b0; --rule: #262c35; --edge: #2b323c;
  --reading: #737e8d; --mean: #7fb0ff; --max: #ff9a5c; --jump: #4fd1c0; --late: #e58cf0;
  --surge: #ff6b6b; --dropout: #f0b851; --stuck: #b79bff; --off: #97a1b0; --good: #5fd38a } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
main { max-width: 1180px; margin: 0 auto; padding: 44px 24px 64px }
h1 { font-size: 30px; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 6px }
header p { color: var(--soft); max-width: 46em; margin: 0 0 24px }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 1px; margin: 0 0 26px;
  background: var(--edge); border: 1px solid var(--edge); border-radius: 10px; overflow: hidden }
.fact { background: var(--card); padding: 12px 16px }
dt { color: var(--soft); font-size: 12.5px } dd { margin: 0; font-size: 20px; font-weight: 600;
  letter-spacing: -0.01em; font-variant-numeric: tabular-nums }
.legend { display: flex; flex-wrap: wrap; gap: 6px 22px; color: var(--soft); font-size: 13px; margin: 0 0 14px }
.legend span { display: inline-flex; align-items: center; gap: 7px } .legend svg { width: 28px; height: 18px }
section { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; padding: 16px 18px 8px;
  margin: 0 0 16px }
h2 { display: inline; font-size: 17px; margin: 0 12px 0 0 }
.note { display: inline; color: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums }
section svg { display: block; width: 100%; height: auto; margin-top: 8px }
svg text { font-size: 11.5px; fill: var(--soft); font-variant-numeric: tabular-nums }
path { fill: none; stroke-linejoin: round }
.grid { stroke: var(--rule) } .axis { stroke: var(--soft); stroke-opacity: .55 }
.reading { stroke: var(--reading); stroke-width: .8; stroke-opacity: .85 }
.band { fill: var(--mean); fill-opacity: .16 } .mean { stroke: var(--mean); stroke-width: 2 }
.max { stroke: var(--max); stroke-width: 1.5 }
.jump { fill: var(--jump); fill-opacity: .28; stroke: var(--jump); stroke-width: .8 }
.late { stroke: var(--late); stroke-width: 1; stroke-opacity: .75 }
.episode rect { fill-opacity: .09 } .episode text { font-weight: 600 }
.surge { --tint: var(--surge) } .dropout { --tint: var(--dropout) } .stuck { --tint: var(--stuck) }
.quiet { --tint: var(--off) } .episode rect { fill: var(--tint) } svg .episode text { fill: var(--tint) }
svg .quiet rect { fill: url(#hatch); fill-opacity: 1 } #hatch path { stroke: var(--off); stroke-opacity: .38 }
pre { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; padding: 16px 18px;
  overflow-x: auto; font: 13px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; margin: 0 }
h3 { font-size: 15px; margin: 28px 0 8px }
"""

PAGE: Final = Template(
    f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Slidewise: the factory demo</title>
<style>{_STYLE}</style>
</head>
<body>
<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>
<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V7"/>
</pattern></defs></svg>
<main>
<header>
<h1>A factory, window by window</h1>
<p>Sensor events went through Spark Structured Streaming, out of order and with gaps. Each event came out with every
aggregate of every window that ends at it. The panels show what came out.</p>
</header>
<dl>$facts</dl>
<div class="legend">$legend</div>
$panels
<h3>The query</h3>
<pre>$code</pre>
</main>
</body>
</html>
"""
)
