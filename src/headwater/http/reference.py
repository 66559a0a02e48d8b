"""The API reference page: Swagger UI over our own OpenAPI document, without any network.

The script and style come from an installed package and are served by us, so the page works
offline and under a policy that lets nothing else run.
"""

from __future__ import annotations

from importlib.resources import files

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{brand} API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<main id="reference"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START = b"""SwaggerUIBundle({
  url: "/public-api/v1/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null
});
"""
_ASSETS = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}


_NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}


def reference_routes(brand: str) -> list[Route]:
    """/docs and what it loads."""
    page = _PAGE.format(brand=brand.replace("&", "&amp;").replace("<", "&lt;"))

    async def show(_: object) -> Response:
        headers = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"}
        return HTMLResponse(page, headers=headers | _NO_SNIFFING)

    async def start(_: object) -> Response:
        return Response(_START, media_type="text/javascript", headers=_NO_SNIFFING)

    def asset(name: str, media_type: str) -> Route:
        content = files("fastapi_swagger").joinpath("resources", name)

        async def send(_: object) -> Response:
            headers = {"Cache-Control": "public, max-age=86400", **_NO_SNIFFING}
            return Response(content.read_bytes(), media_type=media_type, headers=headers)

        return Route(f"/docs/{name}", send)

    return [
        Route("/docs", show),
        Route("/docs/start.js", start),
        *(asset(name, media_type) for name, media_type in _ASSETS.items()),
    ]
