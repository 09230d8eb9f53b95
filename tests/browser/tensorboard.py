"""Looks at runs in TensorBoard with a headless Chromium: screenshots of every tab, and what they must show.

    python3 -m venv V && V/bin/pip install tensorboard selenium
    V/bin/python tests/browser/tensorboard.py runs screenshots

Chromium and its driver come from the system (Debian: chromium, chromium-driver). Without one of the three the script says
what is missing and ends with status 77. It ends with status 1 where a tab does not show what it should.
"""

import csv
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1400,1000", "--hide-scrollbars",
]


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


try:
    import tensorboard  # noqa: F401
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError as error:
    skip(f"{error}; pip install tensorboard selenium")


def browser(profile):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        skip("no chromium or no chromedriver; apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(driver))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(what, found, seconds=90):
    """The first true answer of `found`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            answer = found()
        except Exception:
            answer = None
        if answer:
            return answer
        time.sleep(0.5)
    raise AssertionError(f"no {what} after {seconds} s")


class Looks:
    def __init__(self, driver, address, out, validations):
        self.driver, self.address, self.out, self.validations = driver, address, out, validations

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def open(self, tab):
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}/?darkMode=false#{tab}")

    def keep(self, name):
        time.sleep(3)  # charts are drawn after they are there
        path = self.out / f"{name}.png"
        self.driver.save_screenshot(str(path))
        print(f"{name}: {path}")

    def text(self):
        """All words of the page, those of nested documents of the older tabs included."""
        script = """
            const words = [];
            const walk = (node) => {
                if (node.nodeType === Node.TEXT_NODE) words.push(node.data);
                if (node.shadowRoot) walk(node.shadowRoot);
                if (node.nodeName !== 'STYLE' && node.nodeName !== 'SCRIPT') node.childNodes.forEach(walk);
            };
            walk(document.body);
            return words.join(' ');
        """
        return self.driver.execute_script(script)

    def shows(self, *words):
        wait_for(" and ".join(words), lambda: all(word in self.text() for word in words))

    def tags_of_cards(self):
        """Tags of the cards whose titles are inside the window, from top to bottom."""
        script = """
            const tags = [];
            for (const card of document.querySelectorAll('card-view')) {
                const place = card.getBoundingClientRect();
                if (place.height === 0 || place.top + 60 > window.innerHeight) continue;
                const title = card.querySelector('[title]');
                tags.push(title ? title.title : '');
            }
            return tags;
        """
        return self.driver.execute_script(script)

    def time_series(self):
        self.open("timeseries")
        wait_for("cards with titles", lambda: len(self.tags_of_cards()) >= 2 and all(self.tags_of_cards()[:2]))
        groups = [re.sub(r"\s*\d+ cards?", "", group.text).strip() for group in self.all("card-group-toolbar, .group-toolbar") if group.text]
        groups.remove("Pinned")
        tags = self.tags_of_cards()
        self.keep("time_series")
        print("  groups:", *groups)
        print("  cards on the first screen:", *tags)
        assert groups[:2] == ["log_likelihood", "log_z"], groups
        assert tags[:2] == ["log_likelihood/log_likelihood", "log_z/log_z"], tags

    def custom_scalars(self):
        self.open("custom_scalars")
        self.shows("mean log-likelihood, nats per row", "tracked log Z, nats", "tracked minus audited log Z, nats")
        self.keep("custom_scalars")

    def images(self):
        self.open("images")
        self.shows("model/samples")
        self.keep("images")

    def words(self):
        self.open("text")
        self.shows("about/configuration", "about/version", "hidden")
        self.keep("text")

    def hyperparameters(self):
        self.open("hparams")
        self.shows("learning_rate", "validation log-likelihood")
        # The last validation log-likelihood of each run stands in the table, to four digits.
        numbers = lambda: [float(n.replace("\u2212", "-")) for n in re.findall(r"(?<![\w.])[-\u2212]\d+\.\d+", self.text())]
        there = lambda value: any(abs(number - value) < 1e-3 * abs(value) for number in numbers())
        for run, value in self.validations.items():
            wait_for(f"the validation log-likelihood {value} of {run}", lambda: there(value))
            print(f"  {run}: {value:.3f}")
        self.keep("hparams")


def validations(logdir):
    """The last validation log-likelihood of each run below a folder, from its metrics.csv."""
    found = {}
    for path in logdir.glob("*/metrics.csv"):
        with path.open() as file:
            values = [row["validation_log_likelihood"] for row in csv.DictReader(file)]
        found[path.parent.name] = float([value for value in values if value][-1])
    return found


def main(logdir, out):
    out.mkdir(parents=True, exist_ok=True)
    port = free_port()
    with tempfile.TemporaryDirectory() as profile:
        driver = browser(profile)
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", str(port), "--host", "127.0.0.1"]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for("TensorBoard", lambda: socket.create_connection(("127.0.0.1", port), 1))
            looks = Looks(driver, f"http://127.0.0.1:{port}", out, validations(logdir))
            for look in [looks.time_series, looks.custom_scalars, looks.images, looks.words, looks.hyperparameters]:
                try:
                    look()
                except Exception:
                    driver.save_screenshot(str(out / "failed.png"))
                    raise
        finally:
            server.terminate()
            server.wait()
            driver.quit()
    print("every tab shows what it should")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
