"""Labelling in a browser: the questions in a real Chromium, and the requests that are refused."""

import asyncio
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient, TestServer
from PIL import Image
from typer.testing import CliRunner

from clarinet_tui.cli.main import app
from clarinet_tui.label.labelling import Labelling, write_labels
from clarinet_tui.ui.serve.label_server import LabelServer
from clarinet_tui.ui.serve.server import AccessControl
from tests.support.browser import find_chromium, open_page
from tests.support.serving import serving_command
from tests.support.waiting import wait_until

CLASSES = ("cat", "dog", "eel")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Three pictures and a broken one."""
    (tmp_path / "photos").mkdir()
    for number in range(3):
        Image.new("RGB", (8, 6), (80 * number, 0, 0)).save(tmp_path / "photos" / f"<b>{number}.png")
    (tmp_path / "photos" / "broken.png").write_text("no picture")
    return tmp_path / "photos"


def labelling_of(photos: Path) -> Labelling:
    names = [path.name for path in photos.iterdir()]
    return Labelling(names, CLASSES, photos.parent / "expected.jsonl")


@pytest.mark.skipif(find_chromium() is None, reason="needs Chromium")
def test_keys_and_buttons_answer_in_a_browser(photos: Path, tmp_path: Path) -> None:
    expected = labelling_of(photos)
    label = ("label", "photos", "--classes", ",".join(CLASSES), "--browser", "--port", "0")
    with serving_command(tmp_path, *label) as server, open_page(find_chromium() or "", tmp_path / "profile") as page:
        page.call("Emulation.setDeviceMetricsOverride", width=900, height=600, deviceScaleFactor=1, mobile=False)
        page.call("Page.navigate", url=f"{server.origin}{server.base}")

        def text(name: str) -> str:
            return str(page.evaluate(f"document.getElementById('{name}')?.textContent"))

        def wait_for(name: str, expected: str) -> None:
            wait_until(lambda: expected in text(name), lambda: f"{name}: {text(name)!r}, not {expected!r}")

        def press(key: str) -> None:
            page.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
            page.call("Input.dispatchKeyEvent", type="keyUp", key=key)

        for number, answer in enumerate(("y", "n", "s"), 1):
            question = expected.next_question()
            while question and question.picture == "broken.png":
                expected.leave_out(question)
                question = expected.next_question()
            assert question is not None
            wait_for("progress", f"{number} of {expected.total}")
            wait_for("question", f"Is it {question.label}?")
            wait_for("name", question.picture)
            wait_until(lambda: page.evaluate("document.images[0].naturalWidth") == 8, lambda: "the picture")
            if number == 2:
                page.evaluate("document.getElementById('no').click()")
            else:
                press(answer)
            expected.record(question, {"y": "yes", "n": "no", "s": "skip"}[answer], 0.0)  # type: ignore[arg-type]
        wait_for("question", "All pictures are labelled.")
        press("u")
        wait_for("question", "Is it ")
        press("q")
        wait_for("message", "Written: labels.npz (2 pictures of 6×8×3: 1 yes, 1 no)")
        assert server.process.wait(timeout=60) == 0
        assert not page.console_errors
        assert all(url.startswith(server.origin) for url in page.requests if url.startswith("http"))
    with np.load(tmp_path / "labels.npz") as arrays:
        assert sorted(zip(arrays["y"], arrays["ybar"], strict=True)) == sorted(
            (y, ybar) for _, y, ybar in expected.labels()
        )


def test_wrong_requests_change_nothing(photos: Path, tmp_path: Path) -> None:
    labelling = labelling_of(photos)

    async def ask() -> None:
        access = AccessControl(0, "secret")
        write = partial(write_labels, labelling, photos, tmp_path / "labels.npz", 0)
        server = LabelServer(labelling, photos, write)
        async with TestClient(TestServer(server.make_app(access))) as client:
            object.__setattr__(access, "port", client.port)
            here = {"Host": f"127.0.0.1:{client.port}", "Origin": f"http://127.0.0.1:{client.port}"}

            async def post(content: bytes, path: str = "/secret/answer", **headers: str) -> ClientResponse:
                return await client.post(path, data=content, headers=here | headers)

            state = await (await client.get("/secret/state", headers={"Host": here["Host"]})).json()
            yes = json.dumps({"action": "yes", "number": state["number"]}).encode()
            assert (await post(yes, "/answer")).status == 403
            assert (await post(yes, Origin="http://evil.example")).status == 403
            assert (await post(b'{"action": "rm", "number": 1}')).status == 400
            assert (await post(b"x" * 2000)).status == 413
            assert (await client.get("/secret/picture/99", headers={"Host": here["Host"]})).status == 404
            assert not labelling.answers
            late = json.dumps({"action": "yes", "number": state["number"] + 1}).encode()
            assert "Another tab" in (await (await post(late)).json())["message"]
            assert not labelling.answers
            finish = json.dumps({"action": "finish", "number": 0}).encode()
            assert "no picture was labelled" in (await (await post(finish)).json())["message"]
            answered = await (await post(yes)).json()
            assert len(labelling.answers) == 1
            assert answered["number"] == state["number"] + 1
            picture = await client.get(f"/secret/picture/{answered['number']}", headers={"Host": here["Host"]})
            assert (await picture.read())[:2] == b"\xff\xd8"
            policy = picture.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--port", "1"), "only with --browser"),
        (("--browser", "--blocks"), "without --blocks"),
        (("--out", "a.txt"), "FILE.npz"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: tuple[str, ...], message: str, photos: Path) -> None:
    arguments = ["label", str(photos), "--classes", "cat,dog", "--out", str(photos.parent / "a.npz"), *options]
    assert message in str(CliRunner().invoke(app, arguments).exception)
    assert not list(photos.parent.glob("*.jsonl"))
