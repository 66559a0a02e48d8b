"""Why a sign-in through a provider was refused, and the text for the person. Logs contain only the reason."""

from __future__ import annotations

from enum import StrEnum, auto


class SsoReason(StrEnum):
    """A refusal's reason. Each has a text below."""

    NOT_STARTED_HERE = auto()
    WRONG_STATE = auto()
    SIGN_IN_EXPIRED = auto()
    USED_BEFORE = auto()
    TOO_MANY_ATTEMPTS = auto()
    OTHER_PROVIDER = auto()
    PROVIDER_UNREACHABLE = auto()
    PROVIDER_DOCUMENT = auto()
    PROVIDER_DECLINED = auto()
    CODE_REFUSED = auto()
    MALFORMED_TOKEN = auto()
    ALGORITHM = auto()
    UNKNOWN_KEY = auto()
    SIGNATURE = auto()
    ISSUER = auto()
    AUDIENCE = auto()
    TOKEN_EXPIRED = auto()
    TOKEN_NOT_YET_VALID = auto()
    NONCE = auto()
    ACCESS_TOKEN_HASH = auto()
    NO_SUBJECT = auto()
    USERINFO = auto()
    NO_EMAIL = auto()
    EMAIL_NOT_VERIFIED = auto()
    DOMAIN = auto()
    REQUIRED_CLAIM = auto()
    LINKED_TO_ANOTHER = auto()
    PASSWORD_FIRST = auto()
    ACCOUNT_DISABLED = auto()
    SECRET_UNREADABLE = auto()


class Advice(StrEnum):
    """What the person can do."""

    LOG_IN_AGAIN = "Log in again. If it still fails, contact the operator."
    ACCOUNT = "Use another account, or ask the operator to admit this one."
    LOG_IN_LATER = "Wait a moment and log in again."
    LINK = (
        "Log in with its password, then choose the provider on the page Account. This links the two, once. If"
        " this user is not yours, contact the operator."
    )
    OPERATOR = "Contact the operator: the provider or its settings here must be corrected."


_UNTRUSTED = "The provider's answer cannot be trusted"
_TEXTS: dict[SsoReason, tuple[str, Advice]] = {
    SsoReason.NOT_STARTED_HERE: (
        "This login wasn't started in this browser, or is finished.",
        Advice.LOG_IN_AGAIN,
    ),
    SsoReason.WRONG_STATE: ("This login was replaced by a newer one in this browser.", Advice.LOG_IN_AGAIN),
    SsoReason.SIGN_IN_EXPIRED: ("The login took longer than ten minutes.", Advice.LOG_IN_AGAIN),
    SsoReason.USED_BEFORE: ("This login is already finished.", Advice.LOG_IN_AGAIN),
    SsoReason.TOO_MANY_ATTEMPTS: ("There were too many attempts from your network.", Advice.LOG_IN_LATER),
    SsoReason.OTHER_PROVIDER: ("The answer came from another provider than you chose.", Advice.LOG_IN_AGAIN),
    SsoReason.PROVIDER_UNREACHABLE: ("The provider cannot be reached.", Advice.LOG_IN_LATER),
    SsoReason.PROVIDER_DOCUMENT: ("The provider's settings or keys cannot be read.", Advice.OPERATOR),
    SsoReason.PROVIDER_DECLINED: ("The provider didn't log you in.", Advice.LOG_IN_AGAIN),
    SsoReason.CODE_REFUSED: ("The provider didn't accept the login from this server.", Advice.OPERATOR),
    SsoReason.MALFORMED_TOKEN: (f"{_UNTRUSTED}: its ID token cannot be read.", Advice.OPERATOR),
    SsoReason.ALGORITHM: (f"{_UNTRUSTED}: its signature algorithm is not allowed.", Advice.OPERATOR),
    SsoReason.UNKNOWN_KEY: (f"{_UNTRUSTED}: it is signed with an unknown key.", Advice.LOG_IN_LATER),
    SsoReason.SIGNATURE: (f"{_UNTRUSTED}: its signature is wrong.", Advice.OPERATOR),
    SsoReason.ISSUER: (f"{_UNTRUSTED}: it is from another issuer.", Advice.OPERATOR),
    SsoReason.AUDIENCE: (f"{_UNTRUSTED}: it is for another application.", Advice.OPERATOR),
    SsoReason.TOKEN_EXPIRED: (f"{_UNTRUSTED}: it has expired.", Advice.LOG_IN_AGAIN),
    SsoReason.TOKEN_NOT_YET_VALID: (
        f"{_UNTRUSTED}: it is from the future. A clock is wrong, here or there.",
        Advice.OPERATOR,
    ),
    SsoReason.NONCE: (f"{_UNTRUSTED}: it belongs to another login.", Advice.LOG_IN_AGAIN),
    SsoReason.ACCESS_TOKEN_HASH: (f"{_UNTRUSTED}: its tokens don't belong together.", Advice.OPERATOR),
    SsoReason.NO_SUBJECT: (f"{_UNTRUSTED}: it names no account.", Advice.OPERATOR),
    SsoReason.USERINFO: ("The provider didn't return your e-mail address.", Advice.OPERATOR),
    SsoReason.NO_EMAIL: ("Your account at the provider has no e-mail address.", Advice.ACCOUNT),
    SsoReason.EMAIL_NOT_VERIFIED: (
        "The provider hasn't verified the e-mail address of your account.",
        Advice.ACCOUNT,
    ),
    SsoReason.DOMAIN: ("E-mail addresses of this domain are not admitted.", Advice.ACCOUNT),
    SsoReason.REQUIRED_CLAIM: ("Your account at the provider isn't admitted here.", Advice.ACCOUNT),
    SsoReason.LINKED_TO_ANOTHER: (
        "The user with your e-mail address is linked to another account of this provider.",
        Advice.ACCOUNT,
    ),
    SsoReason.PASSWORD_FIRST: ("A user with your e-mail address has a password.", Advice.LINK),
    SsoReason.ACCOUNT_DISABLED: ("Your user is disabled.", Advice.ACCOUNT),
    SsoReason.SECRET_UNREADABLE: ("The client secret can no longer be decrypted.", Advice.OPERATOR),
}


class SsoRefused(Exception):
    """A sign-in was refused. `cause` is for the operator who tests a provider."""

    def __init__(self, reason: SsoReason, cause: str = "") -> None:
        super().__init__(reason)
        self.reason, self.cause = reason, cause
        self.text, self.advice = _TEXTS[reason]
