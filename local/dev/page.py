"""The page at `/` of the development server: what is here, and where to go on."""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

from local.dev.announce import link_in
from local.dev.files import CERTIFICATE, ENVIRONMENT, FOLDER
from local.dev.keys import ADMIN, DEMO, KEYS
from local.dev.running import Server

_STYLE = """:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto}
dt{font-weight:600;margin-top:1rem}dd{margin:0}code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{padding:.75rem;border:1px solid #8886;border-radius:4px;overflow-x:auto}"""


def page_of(server: Server, inbox_url: str, console: str) -> str:
    """The page as HTML. `console` is what the console says first: its link has a key, and no page shows a key."""
    place = urlsplit(link_in(console)).netloc
    shown = f'<a href="http://{escape(place)}/">http://{escape(place)}/</a>' if place else escape(console)
    kafka = f"<dt>Kafka</dt><dd>{escape(server.kafka)}</dd>" if server.kafka else ""
    users = ", ".join(f"<code>{KEYS[name].access_key}</code> ({name})" for name in (DEMO, ADMIN))
    files = escape(str(FOLDER.name))
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Clockwork: development server</title><style>{_STYLE}</style>
<h1>Clockwork runs here</h1>
<p>This is the development server of a checkout: all of Clockwork, in an AWS emulator, until Ctrl-C in its terminal.</p>
<dl>
<dt>Console</dt>
<dd>{shown} shows jobs, runs and failures. The server's terminal has the link that lets you in; p and Enter there prints
another one.</dd>
<dt>API</dt>
<dd><code>{escape(server.url)}/v1/...</code> takes requests that are signed (SigV4) with the key of {users}.
<code>GET /v1/openapi.json</code> describes it, <code>docs/api.md</code> explains it.</dd>
<dt>Inbox</dt>
<dd><code>{escape(inbox_url)}</code> takes webhooks, and the server's terminal prints them.</dd>
{kafka}<dt>A first job</dt>
<dd><pre>source {files}/{ENVIRONMENT}
clockwork job create --in 2s $INBOX/hello --data '{{"order":17}}'</pre></dd>
<dt>Files</dt>
<dd><code>{files}/{ENVIRONMENT}</code> has the settings of a shell, <code>{files}/{CERTIFICATE}</code> the emulator's
certificate. <code>docs/quickstart.md</code> goes on from here.</dd>
</dl>
</html>
"""
