"""An OAuth issuer that is Authlib's authorization server: signed tokens (RFC 9068), keys that are
rotated, introspection (RFC 7662), revocation (RFC 7009) and metadata (RFC 8414), on loopback.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final

import flask
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet
from werkzeug.serving import WSGIRequestHandler, make_server

CLIENTS: Final = {"studio": "read write dangerous", "reports": "read", "mac": ""}
"""Who may have tokens, and with which scopes; `mac` is the server that asks about them."""

SECRET: Final = "not a secret"


class _Client:
    def __init__(self, name: str) -> None:
        self.name = name

    def get_client_id(self) -> str:
        return self.name

    def check_client_secret(self, secret: str) -> bool:
        return secret == SECRET

    def check_endpoint_auth_method(self, method: str, _endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_grant_type(self, grant: str) -> bool:
        return grant == "client_credentials"

    def get_allowed_scope(self, scope: str | None) -> str:
        return " ".join(word for word in (scope or "").split() if word in CLIENTS[self.name])


class Issuer:
    """The issuer: what a test may turn, and what it has seen.

    Attributes:
        keys: The published keys; the last one signs.
        lifetime, clock: Seconds that a token lives, and by which its clock is ahead of ours.
        audience: What tokens are for, where the client does not say (RFC 8707).
    """

    def __init__(self, url: str, port: int) -> None:
        self.url, self.port = url, port
        self.keys: list[Any] = []
        self.lifetime, self.clock = 600, 0
        self.audience = ""
        self.asked: list[str] = []
        self.revoked: set[str] = set()
        self._known: dict[str, dict[str, Any]] = {}
        self.rotate(1)

    def rotate(self, kept: int) -> None:
        """Sign with a new key from now on; so many are published."""
        new = ECKey.generate_key("P-256", {"use": "sig", "alg": "ES256"}, auto_kid=True)
        self.keys = [*self.keys, new][-kept:]

    def app(self) -> flask.Flask:
        """Return the issuer as an application."""
        app = flask.Flask("issuer")
        app.before_request(lambda: self.asked.append(flask.request.path))
        server = AuthorizationServer(
            app, query_client=lambda name: _Client(name) if name in CLIENTS else None,
            save_token=self._save,
        )  # fmt: skip
        tokens = JWTBearerTokenGenerator(
            self.url, alg="ES256", expires_generator=lambda *_: self.lifetime
        )
        # A set, so that tokens name their key.
        tokens.get_jwks = lambda: KeySet(self.keys[-1:])
        tokens.get_audiences = lambda *_: flask.request.form.get("resource") or self.audience
        tokens.get_extra_claims = lambda *_: {
            "iat": (now := int(time.time()) + self.clock), "exp": now + self.lifetime, "nbf": now,
        }  # fmt: skip
        server.register_token_generator("default", tokens)
        server.register_grant(ClientCredentialsGrant)
        issuer = self

        class Introspection(IntrospectionEndpoint):  # type: ignore[misc]
            def check_permission(self, _token: Any, client: Any, _request: Any) -> bool:
                return bool(client.name == "mac")

            def query_token(self, text: str, _hint: str) -> Any:
                return issuer.find(text)

            def introspect_token(self, token: Any) -> dict[str, Any]:
                return {"active": True, **issuer.claims_of(token.text)}

        class Revocation(RevocationEndpoint):  # type: ignore[misc]
            def query_token(self, text: str, _hint: str) -> Any:
                return issuer.find(text)

            def revoke_token(self, token: Any, _request: Any) -> None:
                issuer.revoked.add(token.text)

        server.register_endpoint(Introspection)
        server.register_endpoint(Revocation)
        app.post("/token")(server.create_token_response)
        answer = server.create_endpoint_response
        app.post("/introspection")(lambda: answer("introspection"))
        app.post("/revocation", endpoint="revocation")(lambda: answer("revocation"))

        @app.get("/keys")
        def keys() -> Any:
            return {"keys": [key.as_dict(private=False) for key in self.keys]}

        @app.get("/.well-known/oauth-authorization-server")
        def metadata() -> Any:
            return {
                "issuer": self.url, "token_endpoint": f"{self.url}/token",
                "authorization_endpoint": f"{self.url}/none", "jwks_uri": f"{self.url}/keys",
                "response_types_supported": ["code"],
                "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            }  # fmt: skip

        return app

    def _save(self, token: dict[str, Any], _request: Any) -> None:
        claims = jwt.decode(token["access_token"], self.keys[-1]).claims
        self._known[token["access_token"]] = claims

    def claims_of(self, text: str) -> dict[str, Any]:
        """Return what a token says."""
        return self._known[text]

    def find(self, text: str) -> Any:
        """Return a token that was issued; None for another."""
        claims = self._known.get(text)
        if claims is None:
            return None
        return SimpleNamespace(
            text=text,
            is_expired=lambda: claims["exp"] < time.time() + self.clock,
            is_revoked=lambda: text in self.revoked,
            check_client=lambda client: client.name == claims["client_id"],
        )


class _QuietHandler(WSGIRequestHandler):
    def log(self, *_words: Any) -> None:
        pass


@contextmanager
def run_issuer(named: str = "") -> Iterator[Issuer]:
    """Run an issuer on loopback, by its address or by a name."""
    pending = flask.Flask("none")
    server = make_server("127.0.0.1", 0, pending, threaded=True, request_handler=_QuietHandler)
    issuer = Issuer(named or f"http://127.0.0.1:{server.server_port}", server.server_port)
    server.app = issuer.app()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
