"""The page of `clarinet label --browser`: a picture, a question and its answers, with keys as in a terminal."""

from __future__ import annotations

from string import Template

SCRIPT = """
const element = (id) => document.getElementById(id);
const base = document.body.dataset.base;
const keys = { y: "yes", n: "no", s: "skip", u: "undo", q: "finish" };
let state = {}, busy = true;

async function send(action) {
  if (busy || (action !== "undo" && action !== "finish" && !state.picture)) return;
  busy = true;
  const body = JSON.stringify({ action, number: state.number });
  try {
    const response = await fetch(base + "/answer", { method: "POST", body });
    if (!response.ok) throw new Error(await response.text());
    show(await response.json());
  } catch (error) {
    element("message").textContent = error.message;
  }
  busy = false;
}

function show(next) {
  state = next;
  element("progress").textContent = state.progress;
  element("question").textContent = state.question;
  element("name").textContent = state.picture;
  element("message").textContent = state.message;
  element("picture").hidden = !state.picture;
  if (state.picture) element("picture").src = base + "/picture/" + state.number;
  for (const button of document.querySelectorAll("button")) {
    const ended = state.ended || (!state.picture && !["undo", "finish"].includes(button.id));
    button.disabled = ended;
  }
}

for (const button of document.querySelectorAll("button")) button.onclick = () => send(button.id);
document.onkeydown = (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  send(keys[event.key]);
};
fetch(base + "/state").then((response) => response.json()).then((first) => { show(first); busy = false; });
"""

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>clarinet label</title>
<link rel="icon" href="data:,">
<style>
html, body { margin: 0; height: 100%; background: #0e1116; color: #d9dfe7; font: 16px system-ui, sans-serif; }
body { display: flex; flex-direction: column; align-items: center; gap: 12px; padding: 12px; box-sizing: border-box; }
.picture { flex: 1; min-height: 0; width: 100%; display: flex; justify-content: center; }
img { max-width: 100%; height: 100%; object-fit: contain; }
#question { font-size: 28px; }
#name, #progress { color: #9aa4b2; overflow-wrap: anywhere; }
#message { min-height: 1.3em; white-space: pre-line; text-align: center; }
.buttons { display: flex; flex-wrap: wrap; justify-content: center; gap: 12px; }
button { padding: 10px 22px; border: 1px solid #56b4e9; border-radius: 4px; background: none; color: inherit;
  font: inherit; }
button:hover:enabled, button:focus:enabled { background: #1d242d; }
button:disabled { opacity: 0.35; }
u { text-underline-offset: 3px; }
</style>
</head>
<body data-base="$base">
<div id="progress">Connecting …</div>
<div class="picture"><img id="picture" alt="the picture in question" hidden></div>
<div id="name"></div>
<div id="question"></div>
<div class="buttons">
<button id="yes" disabled><u>Y</u>es</button>
<button id="no" disabled><u>N</u>o</button>
<button id="skip" disabled><u>S</u>kip</button>
<button id="undo" disabled><u>U</u>ndo</button>
<button id="finish" disabled>Write and <u>q</u>uit</button>
</div>
<div id="message"></div>
<script>$script</script>
</body>
</html>
""")


def render_label_page(base: str) -> str:
    """Render the page, whose paths begin with `base`."""
    return PAGE.substitute(base=base, script=SCRIPT)
