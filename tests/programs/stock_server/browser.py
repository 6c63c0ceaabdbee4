# SPDX-License-Identifier: Apache-2.0
"""The live page in headless Chromium, as its reader has it: texts, sizes, colours. Ends the program
with 77 (skipped) where there is no Chromium to drive. It needs the system's own Python, which has
Selenium."""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "examples/stock_server"))
import shop  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
    print("skipped: no chromium, or no chromedriver")
    sys.exit(77)

PHONE, DESK, WIDE = (360, 640), (900, 440), (1200, 620)
PATIENCE_S = 30

# What one instance's part of the page shows.
PANEL = """[...document.querySelectorAll('section')].map(section => {
    const rows = [...section.querySelectorAll('tbody tr')], place = section.getBoundingClientRect();
    return {
        name: section.dataset.name,
        text: section.innerText,
        state: section.querySelector('.state').textContent,
        good: section.querySelector('.state').classList.contains('good'),
        stale: section.classList.contains('stale'),
        no_locks: !section.querySelector('.no-locks').hidden,
        left: place.left, top: place.top,
        faint: getComputedStyle(section.querySelector('caption')).color,
        colour: rows.length ? getComputedStyle(rows[0].cells[1]).color : '',
        table: Object.fromEntries(rows.map(row => [row.cells[0].innerText,
            [...row.cells].slice(1).map(cell => cell.innerText.split('\\n'))])),
        queues: Object.fromEntries(rows.map(row => [row.cells[0].innerText,
            [...row.querySelectorAll('.queue li')].map(
                one => (one.classList.contains('holder') ? '*' : '') + one.innerText)])),
    };
})"""


class Browser:
    def __init__(self, profile):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage",
                         "--no-first-run", f"--user-data-dir={profile}"):  # fmt: skip
            options.add_argument(argument)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium has none for root
        service = Service(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(service=service, options=options)

    def open(self, url):
        self.driver.get(url)

    def resize(self, size):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 2,
            "mobile": size == PHONE})  # fmt: skip

    def light(self, scheme):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})  # fmt: skip

    def run(self, script):
        return self.driver.execute_script("return " + script)

    def panels(self):
        """{name of an instance: what its part shows}"""
        return {panel["name"]: panel for panel in self.run(PANEL)}

    def panel(self):
        """Of the only instance that is shown."""
        return self.run(PANEL + "[0]")

    def table(self):
        """{product: [stock, queue, waiting, losses]}, the lines of each cell as a list."""
        return self.panel()["table"]

    def state(self):
        return self.panel()["state"]

    def oversold(self):
        return self.run("document.getElementById('too-many').textContent")

    def buttons(self):
        """{id: (label, whether it can be pressed)}"""
        found = self.run("[...document.querySelectorAll('#controls button')]"
                         ".map(one => [one.id, one.innerText, !one.disabled])")  # fmt: skip
        return {name: (label, enabled) for name, label, enabled in found}

    def press(self, name):
        self.driver.find_element("id", name).click()

    def see(self, what, condition, patience_s=PATIENCE_S):
        """Waits until the page shows it: the condition's value, which gets all panels."""
        try:
            return shop.wait_until(what, lambda: condition(self.panels()), patience_s)
        except shop.Failed as failed:
            text = self.run("document.body.innerText")
            raise shop.Failed(f"{failed}; the page: {text}") from None

    def picture(self, path):
        self.driver.save_screenshot(str(path))

    def close(self):
        self.driver.quit()
