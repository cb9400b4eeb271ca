"""`clarinet label --browser`: the questions on a page, with the access control of `clarinet serve`."""

import argparse
import asyncio
import io
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from aiohttp import web
from aiohttp.web_runner import GracefulExit

from clarinet_tui.label.labelling import Labelling, Question, find_pictures, write_labels
from clarinet_tui.text import printable
from clarinet_tui.ui.serve.server import AccessControl, make_protected_app, page_templates, serve
from core.data.images import read_picture
from core.errors import InputError

MAX_SIDE = 1600
"""Pixels of the longer side that the browser gets."""
MAX_BODY = 1000


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    """What the page sends: an answer to the question of this number, or undo, or finish."""

    action: Literal["yes", "no", "skip", "undo", "finish"]
    number: int


class LabelServer:
    """Asks one question at a time, in all tabs the same; an answer to another one is ignored."""

    def __init__(self, labelling: Labelling, folder: Path, write: Callable[[], list[str]]) -> None:
        self._labelling, self._folder, self.write = labelling, folder, write
        self._base_path = ""
        self._number = 0
        self._question: Question | None = None
        self._content = b""
        """The picture of the question, encoded again: no byte of the file reaches the browser."""
        self._asked = 0.0
        self._message = ""
        self._lock = asyncio.Lock()
        self.written: list[str] = []
        """What the page has written, as text; nothing until it is finished."""

    def make_app(self, access: AccessControl) -> web.Application:
        base = self._base_path = access.base_path
        routes = [
            web.get(f"{base}/", self._page),
            web.get(f"{base}/state", self._state),
            web.get(f"{base}/picture/{{number}}", self._picture),
            web.post(f"{base}/answer", self._answer),
        ]
        return make_protected_app(access, "label", routes, {"Cache-Control": "no-store"}, client_max_size=MAX_BODY)

    async def _page(self, request: web.Request) -> web.Response:
        html = page_templates.get_template("label.html").render(base=self._base_path)
        return web.Response(text=html, content_type="text/html")

    async def _state(self, request: web.Request) -> web.Response:
        async with self._lock:
            if self._question is None:
                await self._ask()
            return self._describe()

    async def _picture(self, request: web.Request) -> web.Response:
        if request.match_info["number"] != str(self._number) or not self._content:
            return web.Response(status=404)
        return web.Response(body=self._content, content_type="image/jpeg")

    async def _answer(self, request: web.Request) -> web.Response:
        try:
            answer = msgspec.json.decode(await request.read(), type=Answer)
        except msgspec.DecodeError as error:
            return web.Response(status=400, text=f"{error}\n")
        async with self._lock:
            self._message = ""
            try:
                await self._apply(answer)
            except InputError as error:
                self._message = printable(str(error))
            return self._describe()

    async def _apply(self, answer: Answer) -> None:
        if answer.action == "finish":
            self.written = await asyncio.to_thread(self.write)
            self._message = "\n".join(map(printable, self.written))
            asyncio.get_running_loop().call_later(0.2, _stop)
        elif answer.number != self._number:
            self._message = "Another tab has answered this question."
        elif answer.action == "undo":
            self._labelling.undo()
            await self._ask()
        elif self._question:
            self._labelling.record(self._question, answer.action, time.monotonic() - self._asked)
            await self._ask()

    async def _ask(self) -> None:
        """Read the picture of the next question; unreadable ones are left out and named."""
        self._number += 1
        while question := self._labelling.next_question():
            try:
                self._content = await asyncio.to_thread(_encode, self._folder / question.picture)
                break
            except InputError as error:
                self._message = f"{self._message}\n{printable(str(error))}".strip()
                self._labelling.leave_out(question)
        self._question, self._asked = question, time.monotonic()

    def _describe(self) -> web.Response:
        done, question = len(self._labelling.answers), self._question
        texts = {
            "picture": printable(question.picture) if question else "",
            "question": f"Is it {printable(question.label)}?" if question else "All pictures are labelled.",
            "progress": f"{min(done + 1, self._labelling.total)} of {self._labelling.total}",
            "message": self._message,
        }
        return web.json_response({"number": self._number, "ended": bool(self.written), **texts})


def _encode(path: Path) -> bytes:
    """Return a picture as JPEG, of at most MAX_SIDE pixels; an unreadable one is an InputError."""
    picture, content = read_picture(path), io.BytesIO()
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    picture.save(content, "JPEG", quality=95, subsampling=0)
    return content.getvalue()


def _stop() -> None:
    raise GracefulExit


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until the page or Ctrl+C ends it, then write the file; exit with 2 and a message if that fails."""
    parser = argparse.ArgumentParser(prog="clarinet label")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--class", action="append", dest="classes", default=[])
    parser.add_argument("--image-size", type=int, default=0)
    parser.add_argument("--fit", default="stretch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args(arguments)
    try:
        pictures, answers = find_pictures(options.folder), options.out.with_suffix(".answers.jsonl")
        labelling = Labelling(pictures, options.classes, answers, options.seed)
        cut = options.fit == "cut"
        write = partial(write_labels, labelling, options.folder, options.out, options.image_size, cut=cut)
        server, token = LabelServer(labelling, options.folder, write), secrets.token_urlsafe(24)
        serve(server.make_app, "127.0.0.1", options.port, token, "Ctrl+C writes the file and ends.")
        print("\n".join(server.written or server.write()))
    except InputError as error:
        print(f"clarinet: {printable(str(error))}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
