"""The page around the terminal. It loads nothing from other hosts, and its policy forbids that."""

from __future__ import annotations

import base64
import hashlib
from string import Template

SCRIPT = """
const start = window.onload;
const faces = ["", "bold ", "italic "].map((face) => document.fonts.load(face + "14px 'Roboto Mono'"));
window.onload = (event) => Promise.allSettled(faces).then(() => start(event));
const reopen = document.querySelector("#reopen");
reopen.onclick = () => location.reload();
new MutationObserver(() => {
  if (document.body.classList.contains("-closed")) reopen.focus();
  else if (document.body.classList.contains("-first-byte")) document.querySelector(".xterm-helper-textarea").focus();
}).observe(document.body, { attributeFilter: ["class"] });
"""
"""Load the fonts before the terminal, which measures them once; focus the terminal without a click."""

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
.message {
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
<div class="message opening">Connecting …</div>
<div class="message closed"><div>The app was closed. Runs continue.</div><button id="reopen">Reopen</button></div>
<div id="terminal" class="textual-terminal" data-session-websocket-url="$socket" data-font-size="$size"></div>
<script>$script</script>
</body>
</html>
""")

MIN_FONT_SIZE, DEFAULT_FONT_SIZE, MAX_FONT_SIZE = 6, 14, 40
"""In pixels."""


def render_page(base: str, host: str, font_size: str) -> str:
    """Render the page for a browser that connected to `host`; all paths begin with `base`."""
    return PAGE.substitute(base=base, socket=f"ws://{host}{base}/ws", size=_parse_font_size(font_size), script=SCRIPT)


def security_headers(port: int, script: str = SCRIPT) -> dict[str, str]:
    """Headers of every response: nothing from other hosts, only our script, no framing, no referrer."""
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'",
        f"script-src 'self' 'sha256-{script_hash}'",
        "style-src 'self' 'unsafe-inline'",  # the terminal creates styles at run time
        "font-src 'self'",
        "img-src 'self' data:",
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


def _parse_font_size(text: str) -> int:
    is_number = text.isascii() and text.isdigit()
    return min(max(int(text), MIN_FONT_SIZE), MAX_FONT_SIZE) if is_number else DEFAULT_FONT_SIZE
