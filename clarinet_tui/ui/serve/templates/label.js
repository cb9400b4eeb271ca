// Shows a question and sends its answer; keys as in a terminal.
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
