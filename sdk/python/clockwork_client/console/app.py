"""The application: its routes, and the way from a request to a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from clockwork_client.console import actions, words, writing
from clockwork_client.console.context import Asked, Broken, Context, NoSuchPage, Page
from clockwork_client.console.guard import ENTER, FORM, SESSION, Guard
from clockwork_client.console.pages import (
    admin,
    attention,
    changes,
    confirm,
    dead,
    edit,
    execution,
    fires,
    job,
    jobs,
    operations,
    run,
    runs,
    upcoming,
)
from clockwork_client.console.problems import Problem
from clockwork_client.console.reads import Patience
from clockwork_client.console.sessions import LASTS_SECONDS
from clockwork_client.console.view import HERE, environment

Show = Callable[..., Page]
Act = Callable[..., "actions.Done | Page"]
_NOWHERE = Problem("missing", "There is no such page", "The address leads nowhere.", status=404)
_USED = Problem("denied", "This link was used, or is of another console",
                "Press p and Enter where the console runs for another one.", status=403)  # fmt: skip


def application(context: Context, port: int) -> Guard:
    """The console at a port of 127.0.0.1, with its guard around it."""
    return Guard(Starlette(routes=_routes(Site(context))), context.sessions, port)


def _routes(site: Site) -> list[BaseRoute]:
    found: list[BaseRoute] = [
        Route(ENTER, site.enter),
        Mount("/static", GZipMiddleware(StaticFiles(directory=HERE / "static"))),
        Route("/", site.page(attention.show)),
        Route("/jobs", site.page(jobs.show)),
        Route("/jobs/preview", site.page(edit.preview)),
        *([] if site.context.is_read_only else _forms(site)),
        Route("/jobs/{job_id}", site.page(job.show)),
        Route("/jobs/{job_id}/fires", site.page(fires.show)),
        Route("/executions/{execution_id}", site.page(execution.show)),
        Route("/runs", site.page(runs.show)),
        Route("/pools", site.page(admin.pools)),
        Route("/clients", site.page(admin.clients)),
        Route("/shards", site.page(admin.shards)),
        Route("/upcoming", site.page(upcoming.show)),
        Route("/dead", site.page(dead.show)),
        Route("/operations", site.page(operations.show)),
        Route("/changes", site.page(changes.show)),
        Route("/client", site.form(actions.choose_client), methods=["POST"]),
    ]
    if not site.context.is_read_only:
        found += [
            Route("/jobs/{job_id}/{verb}", site.page(confirm.show), methods=["GET"]),
            Route("/jobs/{job_id}/{verb}", site.form(actions.on_job), methods=["POST"]),
            Route("/executions/{execution_id}/redrive", site.page(run.confirm), methods=["GET"]),
            Route("/executions/{execution_id}/{verb}", site.form(actions.on_execution), methods=["POST"]),
            Route("/clients/{client_id}/{verb}", site.page(admin.confirm), methods=["GET"]),
            Route("/clients/{client_id}/{verb}", site.form(actions.on_client), methods=["POST"]),
            Route("/operations/new", site.page(operations.begin), methods=["GET"]),
            Route("/operations/new", site.form(actions.on_begin), methods=["POST"]),
            Route("/operations/{operation_id}/stop", site.form(actions.on_stop), methods=["POST"]),
        ]
    found.append(Route("/operations/{operation_id}", site.page(operations.one)))
    return [*found, Route("/{path:path}", site.nowhere)]


def _forms(site: Site) -> list[BaseRoute]:
    """The forms of jobs. They stand before the routes of a job, whose id may be any text."""
    return [
        Route("/jobs/new", site.page(edit.new), methods=["GET"]),
        Route("/jobs/new", site.form(writing.on_new), methods=["POST"]),
        Route("/jobs/{job_id}/edit", site.page(edit.edit), methods=["GET"]),
        Route("/jobs/{job_id}/edit", site.form(writing.on_edit), methods=["POST"]),
    ]


class Site:
    """Makes answers of pages and actions."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._templates = environment()

    async def enter(self, request: Request) -> Response:
        """Open a session by a one-time link.

        The page leads on by itself: a redirect from a file, or from a terminal, would come without the new cookie,
        since the browser counts the whole chain as begun elsewhere.
        """
        token = request.query_params.get("token", "")
        session = self.context.sessions.enter(token) if request.method == "GET" else None
        if session is None:
            return HTMLResponse(self._bare("problem_bare.html", problem=_USED), 403)
        answer = HTMLResponse(self._bare("enter.html"))
        answer.set_cookie(
            self.context.sessions.cookie, session, max_age=LASTS_SECONDS, path="/", httponly=True, samesite="strict"
        )
        return answer

    def page(self, show: Show) -> Callable[[Request], Awaitable[Response]]:
        """The handler of a page."""

        async def handler(request: Request) -> Response:
            return await run_in_threadpool(self._shown, request, show)

        return handler

    def form(self, act: Act) -> Callable[[Request], Awaitable[Response]]:
        """The handler of a form, which leads to a page with the result."""

        async def handler(request: Request) -> Response:
            return await run_in_threadpool(self._acted, request, act)

        return handler

    async def nowhere(self, request: Request) -> Response:
        """The page of an address that leads nowhere."""
        return await run_in_threadpool(self._problem, request, _NOWHERE)

    def _shown(self, request: Request, show: Show) -> Response:
        try:
            found = show(self.context, self._asked(request), **_ids(request))
        except NoSuchPage:
            return self._problem(request, _NOWHERE)
        except Broken as error:
            return self._problem(request, error.problem)
        return self._html(request, found)

    def _acted(self, request: Request, act: Act) -> Response:
        try:
            asked = self._asked(request)
            found = act(self.context, asked, **_ids(request))
        except NoSuchPage:
            return self._problem(request, _NOWHERE)
        except Broken as error:
            return self._problem(request, error.problem)
        if isinstance(found, Page):
            return self._html(request, found)
        self.context.flashes.put(asked.session, found.path, found.flash)
        return RedirectResponse(found.path, 303)

    def _problem(self, request: Request, problem: Problem) -> Response:
        return self._html(request, Page("problem.html", problem.title, {"problem": problem}, problem.status))

    def _asked(self, request: Request) -> Asked:
        session = request.scope[SESSION]
        return Asked(
            session=session,
            client=self.context.client_of(session),
            path=request.url.path,
            query=dict(request.query_params),
            form=request.scope.get(FORM, {}),
            goes_on=Patience(self.context.clock).goes_on,
        )

    def _html(self, request: Request, found: Page) -> Response:
        shell = self._shell(request)
        text = self._templates.get_template(found.template).render(**{**shell, "title": found.title, **found.model})
        return HTMLResponse(text, found.status)

    def _bare(self, template: str, **model: object) -> str:
        return self._templates.get_template(template).render(**model)

    def _shell(self, request: Request) -> dict[str, Any]:
        """The frame of each page. It is shown also if the API gives no answer."""
        context, session, path = self.context, request.scope[SESSION], request.scope["path"]
        try:
            client = context.client_of(session)
        except Broken:
            client = ""
        who, clients = context.source.who(), context.source.clients()
        usage = context.source.usage(client) if client else None
        problem = who.problem or (usage.problem if usage is not None else None)
        return {
            "client": client,
            "clients": clients.value or (),
            "is_admin": bool(who.value and who.value.admin),
            "who": words.person(who.value.principal) if who.value else "",
            "is_development": context.is_development,
            "api": context.cw.url,
            "dead_count": usage.value.dead if usage is not None and usage.value else None,
            "outage": problem if problem is not None and problem.is_of_all else None,
            "nav": path.split("/")[1] if path != "/" else "attention",
            "path": path,
            "here": _here(path, request.url.query),
            "flash": None if _is_refresh(request) else context.flashes.take(session, path),
            "is_read_only": context.is_read_only,
            "every": context.every,
            "now": context.now(),
            "token": lambda to: context.sessions.form_token(session, to),
        }


def _here(path: str, query: str) -> str:
    """The address of a page in its own links. Two slashes at its begin would lead to another host."""
    local = "/" + quote(path.lstrip("/"), errors="replace")
    return f"{local}?{query}" if query else local


def _is_refresh(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"


def _ids(request: Request) -> Mapping[str, str]:
    """The parameters of the path. Raises NoSuchPage for an id that would lead to another path of the API."""
    found: dict[str, str] = request.path_params
    if any(one in ("", ".", "..") or len(one) > 2_048 for one in found.values()):
        raise NoSuchPage
    return found
