"""Style sheet of a report (light and dark, phone and print) and its content security policy."""

from clarinet_tui.analysis.figures.matplotlib_output import DARK, PRINT, Theme

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Forbid loading, scripts and forms."""
_RULES = """
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; background: var(--background); color: var(--foreground);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.75rem; border-bottom: 1px solid var(--faint); padding-bottom: 0.25rem; }
nav a { display: inline-block; padding: 0.4rem 0.8rem 0.4rem 0; }
a { color: var(--line0); }
.scroll { overflow-x: auto; margin: 0.75rem 0; }
table { border-collapse: collapse; overflow-wrap: break-word; font-variant-numeric: tabular-nums; font-size: 0.875rem; }
.caption { font-weight: 600; font-size: 0.9375rem; margin: 1rem 0 -0.5rem; }
th, td { padding: 0.3rem 0.7rem 0.3rem 0; text-align: left; vertical-align: top; white-space: nowrap; }
thead th { font-weight: 600; border-bottom: 1px solid var(--faint); }
tbody tr + tr > * { border-top: 1px solid color-mix(in srgb, var(--faint) 35%, transparent); }
tbody th { position: sticky; left: 0; background: var(--background); font-weight: 600; max-width: 45vw;
  white-space: normal; padding-right: 0.9rem; }
.numbers td { text-align: right; }
.numbers thead th + th { text-align: right; }
small, .detail { display: block; font-size: 0.75rem; opacity: 0.8; }
.detail { text-align: left; white-space: normal; min-width: 14rem; max-width: 30rem; }
.published > * { font-style: italic; opacity: 0.8; font-weight: 400; }
.absent { opacity: 0.65; }
.notes, figcaption { font-size: 0.875rem; opacity: 0.85; }
ul { padding-left: 1.1rem; margin: 0.5rem 0; }
.caution, .error, .state.failed, .state.lost { color: var(--line1); opacity: 1; }
details { margin: 0.35rem 0; border-left: 3px solid var(--faint); padding-left: 0.75rem; }
summary { cursor: pointer; padding: 0.3rem 0; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid var(--faint); border-radius: 4px; font-size: 0.8125rem;
  overflow-wrap: normal; }
td { background: color-mix(in srgb, var(--line0) calc(var(--share, 0) * 60%), transparent); }
.matrix { font-size: 0.75rem; }
.matrix th, .matrix td { padding: 0.25rem 0.3rem; text-align: right; min-width: 1.7rem; max-width: 7rem; }
figure { margin: 1rem 0; }
.panels { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
.pictures { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.pictures figure { margin: 0; width: 6rem; }
.pictures img { width: 100%; height: auto; image-rendering: pixelated; }
.pictures span { display: block; }
svg { width: 100%; max-width: 32rem; height: auto; font-family: inherit; stroke-linejoin: round; }
"""
_PRINT = """
@media print {
  html { font-size: 8.5pt; }
  body { max-width: none; padding: 0; }
  nav { display: none; }
  .scroll, pre { overflow: visible; }
  table { font-size: 0.75rem; }
  th, td, tbody th { white-space: normal; padding-right: 0.5rem; }
  .detail { min-width: 6rem; }
  .caption, h3 { break-after: avoid; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  svg, tr, figure > div > * { break-inside: avoid; }
  h2 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""


def style() -> str:
    """Print always uses the light theme."""
    light, dark = _variables(PRINT), _variables(DARK)
    dark_rule = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return f":root {{ {light} }}\n{dark_rule}\n{_RULES}{_PRINT}"


def _variables(theme: Theme) -> str:
    variables = {"foreground": theme.foreground, "faint": theme.faint, "background": theme.background}
    variables |= {f"line{index}": colour for index, colour in enumerate(theme.lines)}
    return " ".join(f"--{name}: {colour};" for name, colour in variables.items())
