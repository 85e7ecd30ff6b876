"""Checks the lab's page in a real browser: is it drawn, readable, self-contained, printable?

    look.py PAGE.html OUT_FOLDER

Leaves light.png, dark.png, narrow.png and print.pdf in OUT_FOLDER. Prints one line for each failed check: how
many elements offend, and the first three. Exits with 0 if all checks held, 77 without a Chromium, else 1.
"""

import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from urllib.parse import unquote

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 500  # seconds for the whole run: less than the limit of ctest
TALLEST, CLIPPED = 16000, 8000  # px; above 16384 Chromium repeats the start of the picture
VIEWS = (("light", 1200, 900, False), ("dark", 1200, 900, False), ("narrow", 360, 800, True))
SUBJECTS = ("section.rung", "figure.play", '[data-overlap="yes"] figure.play[data-role="flawed"]', "details")
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)

# Functions for the checks.
WORDS = r"""
const all = (query, root = document) => [...root.querySelectorAll(query)];
const box = e => e.getBoundingClientRect();
const style = e => getComputedStyle(e);
const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true})
  && box(e).width > 0 && box(e).height > 0;
const own_text = e => [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join(' ').trim();
const texts = () => all('body *').filter(e => own_text(e) && shown(e));

// The place of an element, as a selector: its rung, its figure, itself.
const short = e => e.localName + (e.id ? '#' + e.id : [...e.classList].map(c => '.' + c).join(''))
  + (e.dataset.role ? `[data-role="${e.dataset.role}"][data-scheme="${e.dataset.scheme}"]` : '');
const path = e => new Set([e.closest('section.rung'), e.closest('figure.play'), e].filter(p => p));
const name = e => [...path(e)].map(short).join(' ');
const quoted = e => `${name(e)} "${own_text(e).slice(0, 30)}"`;

// Any CSS colour as [r, g, b, alpha]; null for none and for a pattern. Cached: few colours, many texts.
const once = (of, known = new Map()) => x => known.has(x) ? known.get(x) : known.set(x, of(x)).get(x);
const colour = once(css => {
  if (/^(none|url|context)/.test(css)) return null;
  const canvas = document.createElement('canvas').getContext('2d');  // reads every notation
  canvas.fillStyle = css;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
});
const faded = (c, by) => c && [...c.slice(0, 3), c[3] * by];
const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
const opacity = once(e => e ? style(e).opacity * opacity(e.parentElement) : 1);
const fill = e => faded(colour(style(e).fill), style(e).fillOpacity * opacity(e));
const painted = e => shown(e) && style(e).fill !== 'none' && (fill(e) ?? [0, 0, 0, 1])[3] > 0;

// The bare page follows color-scheme, so ask for its colour instead of assuming white.
const probe = document.body.appendChild(document.createElement('i'));
probe.style.color = 'Canvas';
const paper = colour(style(probe).color);
probe.remove();

// The ground of a text: the backgrounds behind it and, in a drawing, the rects painted before it. null on a
// picture or a pattern.
const behind = once(e => {
  if (!e) return paper;
  if (style(e).backgroundImage !== 'none') return null;
  const own = colour(style(e).backgroundColor), under = own[3] < 1 ? behind(e.parentElement) : paper;
  return under && over(own, under);
});
const ground = e => {
  const b = box(e), x = (b.left + b.right) / 2, y = (b.top + b.bottom) / 2;
  const around = r => box(r).left <= x && x <= box(r).right && box(r).top <= y && y <= box(r).bottom;
  const before = r => r.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING;
  const rects = all('rect', e.closest('svg') ?? probe).filter(r => before(r) && around(r) && painted(r));
  return rects.map(fill).reduce((under, top) => under && top && over(top, under), behind(e));
};

// WCAG 2: relative luminance and contrast.
const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
"""

# Each check returns its offenders. All run in every view, `width` px wide.
CHECKS = r"""{
'there is no script': () => all('script').map(name),
'every rung has a figure': () => all('section.rung').length === 0 ? ['no section.rung']
  : all('section.rung').filter(r => !r.querySelector('figure.play')).map(name),
'every figure has one timeline, larger than 200 x 40': () => all('figure.play').flatMap(f => {
  const [svg, ...more] = all('svg.timeline', f);
  if (!svg || more.length) return [`${name(f)} has ${svg ? 1 + more.length : 0}`];
  const b = box(svg);
  return shown(svg) && b.width > 200 && b.height > 40 ? [] : [`${name(svg)} is ${b.width} x ${b.height}`];
}),
'every timeline has a rect that is painted': () =>
  all('svg.timeline').filter(s => !all('rect', s).some(painted)).map(name),
'no text sticks out of its timeline': () => all('svg.timeline').flatMap(s => all('text', s).filter(t => {
  const a = box(t), b = box(s), air = a.height / 8;  // a text's box has the height of the font, more than its ink
  return shown(t) && Math.max(b.left - a.left, a.right - b.right, b.top - a.top - air, a.bottom - b.bottom - air) > 1;
}).map(quoted)),
'no text lies on another in a timeline': () => all('svg.timeline').flatMap(s => all('text', s).filter((t, i, list) => {
  const a = box(t), meets = b => Math.min(a.right - b.left, b.right - a.left, a.bottom - b.top, b.bottom - a.top) > 1;
  return shown(t) && list.slice(0, i).some(other => shown(other) && meets(box(other)));
}).map(quoted)),
'an overlap is red': () => all('[data-overlap="yes"] figure.play[data-role="flawed"]').filter(f =>
  !all('rect.contested', f).filter(painted).map(fill).some(c => c && c[0] > c[1] && c[0] > c[2])).map(name),
// Not compared with innerWidth: a phone zooms out from a page that is too wide, and innerWidth grows with it.
'nothing is wider than the page': () => {
  const scrolled = e => e && (/auto|scroll/.test(style(e).overflowX) || scrolled(e.parentElement));
  const wide = e => !e.ownerSVGElement && shown(e) && box(e).right > width + 1 && !scrolled(e.parentElement);
  const found = all('body *').filter(wide).map(e => `${name(e)} ends at ${Math.round(box(e).right)}`);
  const total = document.documentElement.scrollWidth;
  return found.concat(total > width ? [`html is ${total} wide`] : []);
},
'the contrast of text is at least 4.5': () => [document.body, ...texts()].flatMap(e => {
  const under = ground(e), ink = e.ownerSVGElement ? fill(e) : faded(colour(style(e).color), opacity(e));
  const found = under && ink ? contrast(over(ink, under), under) : NaN;  // unknown on a picture
  return found >= 4.5 ? [] : [`${quoted(e)} has ${found.toFixed(2)}, rgba(${ink}) on rgba(${under})`];
}),
'text is at least 11 px': () => texts().flatMap(e => {
  const m = e.ownerSVGElement && e.getScreenCTM();  // a drawing scales its text
  const size = parseFloat(style(e).fontSize) * (m ? Math.sqrt(Math.abs(m.a * m.d - m.b * m.c)) : 1);
  return size >= 10.99 ? [] : [`${quoted(e)} has ${size.toFixed(1)}`];
})}"""

# Readers open steps and sources too, so open them for the checks and close them again.
LOOK = r"""(width => { %s
const closed = all('details:not([open])');
closed.forEach(d => d.open = true);
document.getAnimations().forEach(a => { try { a.finish(); } catch { /* it has no end */ } });
try { return Object.entries(%s).map(([what, check]) => [what, check()]); }
finally { closed.forEach(d => d.open = false); }
})""" % (WORDS, CHECKS)

# Paper cannot be clicked: the content of a closed details must be laid out, visible and within its box.
PRINT = r"""(() => { %s
const open = d => all(':scope > :not(summary)', d).some(c => shown(c) && box(c).bottom <= box(d).bottom + 1);
return all('details').filter(d => !open(d)).map(d => `${name(d)} "${d.querySelector('summary')?.textContent}"`);
})()""" % WORDS


class Browser:
    """A headless Chromium in a process group of its own, driven over its pipe. All calls block."""

    def __init__(self, program, home):
        self.log, self.events, self.rest, self.count, self.session = home / "log", [], b"", 0, {}
        command = [program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={home / 'profile'}",
                   "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-gpu",
                   "--disable-dev-shm-usage",  # 64 MB in a container, too little for a tall picture
                   "--hide-scrollbars", "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # Chromium refuses to start otherwise
        places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(home))
        # Chromium reads from 3 and writes to 4. Python may use these; the shell does not.
        self.process = subprocess.Popen(["sh", "-c", 'exec "$@" 3<&0 4>&1 0</dev/null 1>&2', "sh", *command],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log.open("wb"),
                                        bufsize=0, env=os.environ | places, start_new_session=True)

    def ask(self, method, **params):
        self.count += 1
        message = json.dumps({"id": self.count, "method": method, "params": params} | self.session)
        with contextlib.suppress(BrokenPipeError):  # receive() detects it and reports why
            self.process.stdin.write(message.encode() + b"\0")
        while (answer := self.receive()).get("id") != self.count:
            self.events.append(answer)
        if "error" in answer:
            sys.exit(f"look.py: {method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self):
        parts = [self.rest]
        while b"\0" not in parts[-1]:
            parts.append(self.process.stdout.read(1 << 20))
            if not parts[-1]:
                sys.exit("look.py: Chromium went away: " + self.log.read_text(errors="replace")[-1000:])
        message, self.rest = b"".join(parts).split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, script):
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit("look.py: a check broke: " + answer["exceptionDetails"]["exception"]["description"])
        return answer["result"]["value"]

    def close(self):
        """Kills it: a graceful end can hang, and there is nothing to keep."""
        with contextlib.suppress(ProcessLookupError):
            for _ in range(3000):  # until its last child has ended, so that none uses the folder during its removal
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                time.sleep(0.01)


def open_page(browser, address):
    target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
    browser.session = {"sessionId": browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.ask(domain + ".enable")
    browser.ask("Page.setLifecycleEventsEnabled", enabled=True)
    loaded = {"name": "load", "loaderId": browser.ask("Page.navigate", url=address)["loaderId"]}  # not about:blank
    while not any(loaded.items() <= event["params"].items() for event in browser.events):
        browser.events.append(browser.receive())


def show(browser, width, height, mobile, scheme, media=""):
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
    browser.ask("Emulation.setEmulatedMedia", media=media, features=[
        {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}])


def take_picture(browser, path):
    size = browser.ask("Page.getLayoutMetrics")["cssContentSize"]
    clip = size | {"scale": 1, "height": size["height"] if size["height"] <= TALLEST else CLIPPED}
    picture = browser.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
    path.write_bytes(base64.b64decode(picture))


def look_at_views(browser, out):
    for view, width, height, mobile in VIEWS:
        show(browser, width, height, mobile, "dark" if view == "dark" else "light")
        take_picture(browser, out / f"{view}.png")
        yield from ((f"{view}: {what}", bad) for what, bad in browser.evaluate(f"{LOOK}({width})"))


def look_at_print(browser, out):
    show(browser, 794, 1123, False, "light", media="print")  # A4 at 96 dpi
    yield "print: every details shows its content", browser.evaluate(PRINT)
    pdf = base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"])
    (out / "print.pdf").write_bytes(pdf)
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    yield "print: more than one page", [] if pages > 1 else [f"{pages} page"]


def look_at_events(browser, address):
    """Comes last, since a view or the printer may cause a request."""
    requests, errors, warnings = [], [], []
    for method, params in ((event["method"], event["params"]) for event in browser.events):
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if unquote(url) != unquote(address) and not url.startswith("data:"):  # data: is part of the page
                requests.append(url[:200])
        elif method == "Runtime.exceptionThrown":
            errors.append(params["exceptionDetails"].get("exception", {}).get("description", "a thrown value"))
        elif method == "Runtime.consoleAPICalled":
            said = " ".join(str(a.get("value", a.get("description"))) for a in params["args"])
            (errors if params["type"] in ("error", "assert") else warnings).append(said)
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            (errors if params["entry"]["level"] == "error" else warnings).append(params["entry"]["text"])
    for said in warnings:
        print("note: the console says:", " ".join(said.split()))
    yield "page: nothing is loaded but the page itself", requests
    yield "page: no errors in the console", errors


def look(browser, page, out):
    open_page(browser, page.as_uri())
    held = failed = 0
    for looks in (look_at_views(browser, out), look_at_print(browser, out), look_at_events(browser, page.as_uri())):
        for what, offenders in looks:
            held, failed = held + (not offenders), failed + bool(offenders)
            if offenders:
                print(f"FAILED {what} ({len(offenders)}):", " ".join("; ".join(offenders[:3]).split()))
    # A check also holds without any element to check, so report how many there were.
    amount = (f"{browser.evaluate(f'document.querySelectorAll(`{query}`).length')} {query}" for query in SUBJECTS)
    print(f"{held} checks held, {failed} failed, looking at", ", ".join(amount))
    return 1 if failed else 0


def stop(number, _frame):
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)  # do not interrupt the end itself
    sys.exit(f"look.py: ended by {signal.Signals(number).name}; its own, after {PATIENCE} s, is SIGALRM")


def main():
    if len(sys.argv) != 3 or not os.path.isfile(sys.argv[1]):
        return "usage: look.py PAGE.html OUT_FOLDER"
    if not (program := next(filter(None, map(shutil.which, PROGRAMS)), None)):
        print("look.py: no Chromium here; apt-get install chromium")
        return 77
    page, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for each in ENDINGS:
        signal.signal(each, stop)
    signal.alarm(PATIENCE)
    with tempfile.TemporaryDirectory(prefix="look-", ignore_cleanup_errors=True) as home:
        with contextlib.closing(Browser(program, pathlib.Path(home))) as browser:
            return look(browser, page, out)


if __name__ == "__main__":
    sys.exit(main())
