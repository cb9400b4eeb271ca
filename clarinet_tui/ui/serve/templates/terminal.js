// Loads the fonts before the terminal, which measures them once; focuses the terminal without a click.
const start = window.onload;
const faces = ["", "bold ", "italic "].map((face) => document.fonts.load(face + "14px 'Roboto Mono'"));
window.onload = (event) => Promise.allSettled(faces).then(() => start(event));
const reopen = document.querySelector("#reopen");
reopen.onclick = () => location.reload();
new MutationObserver(() => {
  if (document.body.classList.contains("-closed")) reopen.focus();
  else if (document.body.classList.contains("-first-byte")) document.querySelector(".xterm-helper-textarea").focus();
}).observe(document.body, { attributeFilter: ["class"] });
