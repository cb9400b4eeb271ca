"""The pages that browsers show. They load nothing from other hosts, and their policy forbids that."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"
MIN_FONT_SIZE, DEFAULT_FONT_SIZE, MAX_FONT_SIZE = 6, 14, 40
"""In pixels."""
_environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)


def render_terminal_page(base: str, host: str, font_size: str) -> str:
    """Render the page around the terminal for a browser that connected to `host`; all paths begin with `base`."""
    size = int(font_size) if font_size.isascii() and font_size.isdigit() else DEFAULT_FONT_SIZE
    size = min(max(size, MIN_FONT_SIZE), MAX_FONT_SIZE)
    template = _environment.get_template("terminal.html")
    return template.render(base=base, socket=f"ws://{host}{base}/ws", size=size)


def render_label_page(base: str) -> str:
    """Render the page of `clarinet label --browser`: a picture, a question and its answers."""
    return _environment.get_template("label.html").render(base=base)


def security_headers(port: int) -> dict[str, str]:
    """Headers of every response: nothing from other hosts, only our scripts, no framing, no referrer."""
    policy = (
        "default-src 'none'",
        "script-src 'self'",
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
