#!/usr/bin/env python3
"""A page of the command in a real browser: python3 browser_test.py HALOCLINE FOLDER

Drives Chromium by its debugging protocol, with Python's standard library alone. Says "skipped: no chromium" without one.
"""

import base64
import http.client
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time


class WebSocket:
    """As much of RFC 6455 as the protocol needs: text messages, unfragmented from here."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.bytes += self.more()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def more(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionError("the browser closed the connection")
        return got

    def take(self, count):
        while len(self.bytes) < count:
            self.bytes += self.more()
        out, self.bytes = self.bytes[:count], self.bytes[count:]
        return out

    def frame(self, opcode, data):
        mask = os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        self.socket.sendall(head + mask + bytes(b ^ mask[n % 4] for n, b in enumerate(data)))

    def send(self, text):
        self.frame(1, text.encode())

    def receive(self):
        message = b""
        while True:
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack("!H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.take(8))[0]
            data = self.take(size)
            if first & 15 == 9:  # ping
                self.frame(10, data)
            elif first & 15 == 8:
                raise ConnectionError("the browser ended the connection")
            elif first & 15 < 3:
                message += data
                if first & 0x80:
                    return message.decode()


class Browser:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="halocline-browser-")
        words = [program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={self.folder}",
                 "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000",
                 "--disable-background-networking", "--disable-component-update", "about:blank"]
        if os.geteuid() == 0:
            words.insert(1, "--no-sandbox")
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = pathlib.Path(self.folder, "DevToolsActivePort")
        until = time.time() + 60
        while not (port_file.exists() and "\n" in port_file.read_text()):
            if time.time() > until or self.process.poll() is not None:
                raise RuntimeError("the browser did not start")
            time.sleep(0.05)
        port = int(port_file.read_text().split()[0])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/json/list")
        pages = json.loads(connection.getresponse().read())
        target = next(page for page in pages if page["type"] == "page")
        path = target["webSocketDebuggerUrl"].split(str(port), 1)[1]
        self.socket = WebSocket(port, path)
        self.number = 0
        self.problems = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("method") == "Runtime.exceptionThrown":
                self.problems.append(message["params"]["exceptionDetails"])
            elif message.get("method") == "Runtime.consoleAPICalled" and message["params"]["type"] == "error":
                self.problems.append(message["params"]["args"])
            elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                self.problems.append(message["params"]["entry"])
            elif message.get("method") == "Page.javascriptDialogOpening":
                raise AssertionError("the page opened a dialog: " + json.dumps(message["params"]))
            elif message.get("id") == self.number:
                assert "error" not in message, (method, message["error"])
                return message["result"]

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, (script, result["exceptionDetails"])
        return result["result"].get("value")

    def open(self, path, most_seconds=5.0):
        """Returns the seconds until the page is ready."""
        begin = time.time()
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while not self.run("location.protocol === 'file:' && document.documentElement?.dataset.ready || ''"):
            assert time.time() < begin + most_seconds, f"{path} is not ready after {most_seconds} s"
            time.sleep(0.02)
        return time.time() - begin

    def settle(self):
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def pixels(self, plane):
        """A number that stands for the pixels of a canvas."""
        self.settle()
        return self.run(f"""(() => {{
            const canvas = document.getElementById('canvas-{plane}');
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            let hash = 0;
            for (const value of data) hash = (Math.imul(hash, 31) + value) | 0;
            return hash;
        }})()""")

    def set(self, name, value, event="input"):
        self.run(f"(() => {{ const it = document.getElementById('{name}'); it.value = {json.dumps(str(value))}; "
                 f"it.dispatchEvent(new Event('{event}', {{bubbles: true}})); }})()")

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def text(self, name):
        self.settle()
        return self.run(f"document.getElementById('{name}').textContent")

    def place(self, plane, x, y):
        box = self.run(f"(() => {{ const box = document.getElementById('canvas-{plane}').getBoundingClientRect(); "
                       "return [box.left, box.top, box.width, box.height]; })()")
        return {"x": box[0] + x * box[2], "y": box[1] + y * box[3]}

    def mouse(self, kind, place, **more):
        self.call("Input.dispatchMouseEvent", type=kind, **place, **more)

    def drag(self, plane, begin, end, button="left"):
        buttons = {"left": 1, "right": 2}[button]
        self.mouse("mouseMoved", self.place(plane, *begin))
        self.mouse("mousePressed", self.place(plane, *begin), button=button, buttons=buttons, clickCount=1)
        for part in (0.5, 1.0):
            at = [a + part * (b - a) for a, b in zip(begin, end)]
            self.mouse("mouseMoved", self.place(plane, *at), button=button, buttons=buttons)
        self.mouse("mouseReleased", self.place(plane, *end), button=button, clickCount=1)

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


def differ(browser, plane, act, what):
    before = browser.pixels(plane)
    act()
    after = browser.pixels(plane)
    assert before != after, what + " changes no pixel"


def look_at_slices(browser):
    differ(browser, "axial", lambda: browser.set("slice-axial", 5), "the slider")
    differ(browser, "coronal", lambda: browser.mouse("mouseWheel", browser.place("coronal", 0.3, 0.3), deltaX=0,
                                                     deltaY=-100), "the wheel")
    before = browser.text("place")
    browser.drag("axial", (0.2, 0.2), (0.25, 0.4))
    assert browser.text("place") != before, "a drag leaves the cross-hair where it was"
    before = browser.text("place")
    browser.run("document.getElementById('canvas-axial').focus()")
    browser.key("ArrowRight")
    assert browser.text("place") != before, "the arrow key leaves the cross-hair where it was"


def look_at_the_divider(browser):
    browser.set("swipe", 500)
    differ(browser, "axial", lambda: browser.set("swipe", 250), "the slider of the divider")
    before = browser.run("document.getElementById('swipe').value")
    differ(browser, "sagittal", lambda: browser.drag("axial", (0.25, 0.7), (0.8, 0.7)), "a drag of the divider")
    value = float(browser.run("document.getElementById('swipe').value"))
    assert abs(value - 800) < 15, (before, value)
    # beyond the divider lies the right volume, and before it the left one
    pixels = {}
    browser.click("#cross")
    for mode in ("left", "right", "difference", "swipe"):
        browser.click(f"input[value={mode}]")
        pixels[mode] = browser.pixels("axial")
    assert len(set(pixels.values())) == 4, pixels
    browser.click("#cross")


def grey_in_the_middle(browser):
    browser.settle()
    return browser.run("""(() => {
        const canvas = document.getElementById('canvas-axial');
        return canvas.getContext('2d').getImageData(canvas.width * 0.31, canvas.height * 0.53, 1, 1).data[0];
    })()""")


def look_at_the_window(browser):
    browser.click("input[value=left]")
    for name in ("level", "width"):
        old = float(browser.run(f"document.getElementById('{name}').value"))
        differ(browser, "axial", lambda: browser.set(name, old * 1.7 + 0.003, "change"), "the " + name)
    for name in ("levelSlider", "widthSlider"):
        differ(browser, "axial", lambda: browser.set(name, 430), "the " + name)
    differ(browser, "axial", lambda: browser.drag("axial", (0.3, 0.3), (0.6, 0.5), "right"), "a drag with the right button")
    differ(browser, "axial", lambda: browser.click("#auto"), "Auto")
    differ(browser, "axial", lambda: browser.set("width", 0.5, "change"), "the window")
    differ(browser, "axial", lambda: browser.click("#reset"), "Reset")
    # the grey of a voxel is that of its value
    browser.click("#smooth")
    browser.click("#cross")
    browser.set("level", 0.01, "change")
    browser.set("width", 0.04, "change")
    browser.mouse("mouseMoved", browser.place("axial", 0.31, 0.53))
    words = browser.text("values").split(" · ")[0].rsplit(": ", 1)[1].split()
    wanted = max(0, min(255, 255 * (float(words[0]) + 0.01) / 0.04))
    assert abs(grey_in_the_middle(browser) - wanted) <= 1.5, (grey_in_the_middle(browser), words)
    assert " mm" in browser.text("place"), browser.text("place")
    browser.click("#smooth")
    browser.click("#cross")
    browser.click("input[value=swipe]")


def look_at_colours(browser):
    colours = []
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colours.append(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] != colours[1], colours
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])


def look_at_old_browsers(browser, page):
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream;")
    browser.open(page)
    assert "DecompressionStream" in browser.text("message"), browser.text("message")
    assert browser.run("document.getElementById('viewer').hidden && !document.getElementById('message').hidden")
    assert browser.run("document.querySelectorAll('#facts tr').length > 5"), "the tables are missing"
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])


def make_pages(halocline, folder):
    def run(*words):
        subprocess.run([halocline, *words, "--quiet"], cwd=folder, check=True)

    run("phantom", "--type", "shepp-logan-hc", "--size", "48,40,36", "--spacing", "1,1.2,1.5", "-o", "truth.mha")
    run("noise", "-i", "truth.mha", "--photons", "3000", "-o", "noisy.mha", "--html", "noise.html")
    evil = "<img src=x onerror=alert(1)>.mha"
    os.replace(folder / "noisy.mha", folder / evil)
    run("view", "truth.mha", evil, "-o", "view.html")
    run("denoise", "-i", evil, "--method", "gaussian", "--sigma", "1", "-o", "smooth.mha", "--html", "denoise.html")
    run("denoise", "-i", evil, "--method", "pdu", "--alpha", "20", "-o", "pdu.mha", "--html", "pdu.html")
    return folder / "view.html", folder / "noise.html", folder / "denoise.html", folder / "pdu.html"


def main():
    program = next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None)
    if program is None:
        print("skipped: no chromium")
        return
    halocline, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    view, noise, denoise, pdu = make_pages(halocline, folder)
    browser = Browser(program)
    try:
        seconds = browser.open(view)
        print(f"ready after {seconds:.2f} s")
        look_at_slices(browser)
        look_at_the_divider(browser)
        look_at_the_window(browser)
        look_at_colours(browser)
        browser.open(noise)
        differ(browser, "axial", lambda: browser.set("slice-axial", 3), "the slider of projections")
        assert browser.text("place").startswith("view 3"), browser.text("place")
        browser.open(denoise)
        assert browser.run("document.querySelectorAll('#left option').length") == 2
        browser.open(pdu)
        assert browser.run("document.querySelectorAll('#plots svg').length") >= 1, "no curve"
        browser.screenshot(folder / "pdu.png")
        look_at_old_browsers(browser, pdu)
        assert not browser.problems, browser.problems
    finally:
        browser.close()
    print("all right")


if __name__ == "__main__":
    main()
