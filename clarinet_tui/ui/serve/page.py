"""The page around the terminal. It fetches nothing from elsewhere, and its policy forbids that to whatever it shows."""

from __future__ import annotations

import base64
import hashlib
from string import Template

SCRIPT = """
const start = window.onload;
const faces = ["", "bold ", "italic "].map((face) => document.fonts.load(face + "14px 'Roboto Mono'"));
window.onload = (event) => Promise.allSettled(faces).then(() => start(event));
const again = document.querySelector("#again");
again.onclick = () => location.reload();
new MutationObserver(() => {
  if (document.body.classList.contains("-closed")) again.focus();
  else if (document.body.classList.contains("-first-byte")) document.querySelector(".xterm-helper-textarea").focus();
}).observe(document.body, { attributeFilter: ["class"] });
"""
"""Fonts come before the terminal, which measures them once; keys go to the terminal without a click."""

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>clarinet</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="$base/static/css/xterm.css">
<style>
@font-face {
  font-family: "Roboto Mono"; font-weight: 100 700;
  src: url("$base/static/fonts/RobotoMono-VariableFont_wght.ttf");
}
@font-face {
  font-family: "Roboto Mono"; font-weight: 100 700; font-style: italic;
  src: url("$base/static/fonts/RobotoMono-Italic-VariableFont_wght.ttf");
}
html, body { margin: 0; height: 100%; overflow: hidden; background: #0e1116; color: #d9dfe7; }
body { font: 14px "Roboto Mono", monospace; }
.textual-terminal { width: 100vw; height: 100vh; }
.word {
  position: absolute; inset: 0; z-index: 10; display: flex; flex-direction: column; gap: 16px;
  align-items: center; justify-content: center; background: #0e1116;
}
body.-first-byte .opening, .closed, body.-closed .opening { display: none; }
body.-closed .closed { display: flex; }
button { padding: 8px 24px; border: 1px solid #56b4e9; background: none; color: inherit; font: inherit; }
button:hover, button:focus { background: #1d242d; }
</style>
<script src="$base/static/js/textual.js"></script>
</head>
<body>
<div class="word opening">clarinet …</div>
<div class="word closed"><div>The app is closed. Runs go on.</div><button id="again">Open again</button></div>
<div id="terminal" class="textual-terminal" data-session-websocket-url="$socket" data-font-size="$size"></div>
<script>$script</script>
</body>
</html>
""")

SMALLEST, USUAL, LARGEST = 6, 14, 40
"""Pixels of a letter's height."""


def render_page(base: str, host: str, font_size: str) -> str:
    """The page for a browser that calls us `host`; all of its addresses begin with `base`."""
    return PAGE.substitute(base=base, socket=f"ws://{host}{base}/ws", size=_parse_font_size(font_size), script=SCRIPT)


def security_headers(port: int) -> dict[str, str]:
    """For every answer: nothing from elsewhere, no script but ours, in nobody's frame; no address is told to others."""
    ours = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = (
        "default-src 'none'",
        f"script-src 'self' 'sha256-{ours}'",
        "style-src 'self' 'unsafe-inline'",  # the terminal makes its styles as it goes
        "font-src 'self'",
        "img-src data:",
        f"connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def _parse_font_size(asked: str) -> int:
    return min(max(int(asked), SMALLEST), LARGEST) if asked.isascii() and asked.isdigit() else USUAL
