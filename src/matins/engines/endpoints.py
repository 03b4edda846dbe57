"""Where the parts of one installation find each other: small files in its data folder.

`postgres/address` and `valkey/address` are there while those engines run, `api.json` while an API
does; `port` is where it listened last. The tokens under `secrets/` are made once.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from matins.domain.values.errors import SettingsError
from matins.engines.folders import default_data_folder, read_or_make_secret, write_private
from matins.kernel.settings import ADMIN, Settings, listed, named_tokens


class ApiEndpoint(msgspec.Struct, frozen=True):
    """Where an API process of this data folder listens."""

    url: str
    pid: int


class Endpoints:
    """Addresses and tokens: what the settings say, else what the data folder says."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.data = (settings.data or default_data_folder()).absolute()
        self.admin_token_file = self.data / "secrets" / "admin-token"
        self.executor_token_file = self.data / "secrets" / "executor-token"
        self.secret_key_file = self.data / "secrets" / "secret-key"
        self.lease_file = self.data / "scheduler-lease"
        self._api_file = self.data / "api.json"
        self._port_file = self.data / "port"

    def postgres(self) -> str:
        """Return the DSN of PostgreSQL. Raises SettingsError when nothing says where it is."""
        return self._settings.postgres or self._address("postgres", "MATINS_POSTGRES")

    def valkey(self) -> str:
        """Return the URL of Valkey. Raises SettingsError when nothing says where it is."""
        return self._settings.valkey or self._address("valkey", "MATINS_VALKEY")

    def api_url(self) -> str:
        """Return the URL of the API. Raises SettingsError when nothing says where it is."""
        if self._settings.url:
            return self._settings.url
        try:
            return msgspec.json.decode(self._api_file.read_bytes(), type=ApiEndpoint).url
        except (OSError, msgspec.DecodeError):
            raise SettingsError(
                f"no API is known: {self._api_file} is not there and MATINS_URL is not set;"
                " start one with `matins up`"
            ) from None

    def admin_token(self) -> str:
        """Return the token of owners. Raises SettingsError when nothing says it."""
        return self._settings.token or self._settings.admin_token or self._token("admin-token")

    def tokens(self) -> dict[str, str]:
        """Return all tokens of owners by name. Raises SettingsError when nothing says them."""
        return {ADMIN: self.admin_token(), **named_tokens(self._settings.tokens)}

    def executor_token(self) -> str:
        """Return the token of executors. Raises SettingsError when nothing says it."""
        token = self._settings.executor_token or self._settings.token
        return token or self._token("executor-token")

    def secret_keys(self) -> list[str]:
        """Return the keys by which secrets are stored; none where nothing says them."""
        if self._settings.secret_keys:
            return listed(self._settings.secret_keys)
        try:
            return listed(self.secret_key_file.read_text())
        except OSError:
            return []

    def make_tokens(self) -> None:
        """Make the tokens and the key of this data folder on the first start."""
        self.admin_token_file.parent.mkdir(mode=0o700, exist_ok=True)
        read_or_make_secret(self.admin_token_file)
        read_or_make_secret(self.executor_token_file)
        read_or_make_secret(self.secret_key_file)

    def publish_api(self, endpoint: ApiEndpoint) -> None:
        """Let commands on this machine find the API; nothing happens without a data folder."""
        if self.data.is_dir():
            write_private(self._api_file, msgspec.json.encode(endpoint).decode() + "\n")

    def published_api(self) -> ApiEndpoint | None:
        """Return the API that was published last."""
        try:
            return msgspec.json.decode(self._api_file.read_bytes(), type=ApiEndpoint)
        except (OSError, msgspec.DecodeError):
            return None

    def withdraw_api(self, endpoint: ApiEndpoint) -> None:
        """This API is gone; nothing happens if another one was published meanwhile."""
        if self.published_api() == endpoint:
            self._api_file.unlink(missing_ok=True)

    def forget_api(self) -> None:
        """Drop what an API that died without a word has left."""
        self._api_file.unlink(missing_ok=True)

    def remember_port(self) -> None:
        """Keep the port of the API that was published, for the next start."""
        endpoint = self.published_api()
        if endpoint is not None:
            write_private(self._port_file, f"{urlsplit(endpoint.url).port}\n")

    def remembered_port(self) -> int:
        """Return the port that was kept; 0 if none was."""
        try:
            return int(self._port_file.read_text())
        except (OSError, ValueError):
            return 0

    def _address(self, engine: str, variable: str) -> str:
        try:
            return (self.data / engine / "address").read_text().strip()
        except OSError:
            raise SettingsError(
                f"{variable} is not set and no embedded {engine} runs in {self.data};"
                f" set it, or start one with `matins up`"
            ) from None

    def _token(self, name: str) -> str:
        try:
            return (self.data / "secrets" / name).read_text().strip()
        except OSError:
            variable = "MATINS_" + name.upper().replace("-", "_")
            raise SettingsError(
                f"{variable} is not set and {self.data / 'secrets' / name} can't be read; set it"
            ) from None
