from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Rule(StrEnum):
    """Alert rules, the most urgent first."""

    DESTINATION_HELD = "destination_held"
    PROCESSING_LATE = "processing_late"
    SUBSCRIPTION_INACTIVE = "subscription_inactive"
    VISITS_FELL = "visits_fell"
    ORDERS_FELL = "orders_fell"
    EVENTS_REJECTED = "events_rejected"
    REJECTIONS_ROSE = "rejections_rose"
    JOINS_REFUSED = "joins_refused"
    DELIVERIES_LATE = "deliveries_late"
    SPEND_CONNECTION_HELD = "spend_connection_held"
    SPEND_MISSING = "spend_missing"
    WATCHED_FILE_FAILING = "watched_file_failing"
    EXPORTS_FAILED = "exports_failed"
    JOB_FAILED = "job_failed"
    SPEND_API_VERSION = "spend_api_version"
    KEY_EXPIRING = "key_expiring"
    DELIVERIES_FAILED = "deliveries_failed"
    IDENTIFIERS_MISSING = "identifiers_missing"
    ORDERS_REPEATED = "orders_repeated"
    UNATTRIBUTED_ROSE = "unattributed_rose"
    SOURCE_VISITS_FELL = "source_visits_fell"
    SOURCE_REVENUE_FELL = "source_revenue_fell"
    CUSTOM = "custom"


class Sensitivity(StrEnum):
    """The required distance from the usual value."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class RuleText(Struct, frozen=True):
    title: str
    about: str
    remedy: str
    page: str
    """The path of the page that helps, after the Space's."""
    page_remedy: str = ""

    @property
    def advice(self) -> str:
        return self.page_remedy or self.remedy


TEXTS: dict[Rule, RuleText] = {
    Rule.DESTINATION_HELD: RuleText(
        "Ad platform held",
        "A platform refuses the destination's credentials, so that its conversions wait.",
        "The platform refused the credentials. Nothing is lost yet, but platforms accept only recent "
        "events. Give it a new token with `headwater destination set`, then resume it:",
        "/platforms",
        "Nothing is lost yet, but platforms accept only recent events. Replace its token, test it, "
        "and start sending again.",
    ),
    Rule.PROCESSING_LATE: RuleText(
        "Processing behind",
        "Accepted events have waited for five minutes or longer.",
        "Nothing is lost. Check the service's log: the worker is not running, or cannot keep up.",
        "/setup",
    ),
    Rule.SUBSCRIPTION_INACTIVE: RuleText(
        "Subscription inactive",
        "API keys and tokens of the Space are refused.",
        "The operator can activate it:",
        "/settings",
        "The operator can activate it.",
    ),
    Rule.VISITS_FELL: RuleText(
        "Visits stopped or fell",
        "Far fewer visits (without a site: touchpoints) than usual at this time of the week.",
        "Test the site: the test opens a page like a browser and reports what is missing.",
        "/sites",
    ),
    Rule.ORDERS_FELL: RuleText(
        "Orders stopped or fell",
        "Far fewer orders than usual at this time of the week, and than the visits suggest.",
        "Check recent webhooks and imports, and whether the API key for orders still works.",
        "/orders",
    ),
    Rule.EVENTS_REJECTED: RuleText(
        "Events rejected",
        "Accepted events could not be processed, and are stored with the reason.",
        "They are stored. See why, and process them again with `headwater queue replay` once the "
        "cause is fixed:",
        "/data-quality",
        "They are stored. Check the reasons, fix the cause, and process them again.",
    ),
    Rule.REJECTIONS_ROSE: RuleText(
        "Rejections jumped",
        "Far more rows of events or imports are rejected or refused than usual.",
        "Check the reasons, fix the sender, and replay the rejected rows.",
        "/data-quality",
    ),
    Rule.JOINS_REFUSED: RuleText(
        "Too many contacts for one browser",
        "A browser or an IP address tried to identify as more than three known contacts within an "
        "hour, without a signature.",
        "This may be an attempt to take the credit of customers' orders. The contacts beyond the "
        "limit were not linked. Sign identifies on your server, then accept only signed ones: "
        "`headwater site set --identify signed`.",
        "/sites",
        "This may be an attempt to take the credit of customers' orders. The contacts beyond the "
        "limit were not linked. Sign identifies on your server, then accept only signed ones in "
        "the site's settings.",
    ),
    Rule.DELIVERIES_LATE: RuleText(
        "Deliveries behind",
        "Conversions for a platform have been due for five minutes or longer.",
        "The platform does not respond as it should. Sending continues automatically. The list of "
        "deliveries has each attempt and the platform's response:",
        "/platforms",
        "Sending continues automatically. The destination's page has each attempt and the platform's "
        "response.",
    ),
    Rule.SPEND_CONNECTION_HELD: RuleText(
        "Spend connection stopped",
        "A platform refuses to report an ad account's spend until someone changes something: the "
        "token, its permissions, the account or the version of the API.",
        "Nothing is lost: the missing days are fetched afterwards. Fix the problem in the "
        "platform's message with `headwater spend set`, then resume:",
        "/spend/connections",
        "Nothing is lost: the missing days are fetched afterwards. Fix the problem in the "
        "platform's message, then resume the connection.",
    ),
    Rule.SPEND_MISSING: RuleText(
        "Spend missing",
        "An ad account's spend has not been pulled completely for more than 24 hours.",
        "Pulls are repeated automatically, and the missing days are fetched afterwards. See the "
        "platform's last message; check that this server can connect to the platform:",
        "/spend/connections",
        "Pulls are repeated automatically, and the missing days are fetched afterwards. The "
        "connection's page has the platform's last message.",
    ),
    Rule.WATCHED_FILE_FAILING: RuleText(
        "Watched address failing",
        "The file at a watched address can't be fetched or read until someone changes something, or has not "
        "been fetched for more than 24 hours.",
        "Do what the message says with `headwater watch set`, or at the platform that writes the file. An "
        "address that stopped is fetched again after a change. See it:",
        "/spend/watched",
        "Do what the message says, on the address's page or at the platform that writes the file.",
    ),
    Rule.EXPORTS_FAILED: RuleText(
        "Scheduled exports failing",
        "Files of a scheduled export could not be written, four times in a row.",
        "They are tried again with the next run. Check that the object store is writable and not "
        "full: the reason is in `GET /exports/schedules`.",
        "/setup",
    ),
    Rule.JOB_FAILED: RuleText(
        "Background job failing",
        "Background work (alerts, scheduled reports, exports, …) fails for this Space.",
        "Other Spaces are not affected, and it is tried again every few minutes. The service's log "
        "has the error: please report it.",
        "/setup",
    ),
    Rule.SPEND_API_VERSION: RuleText(
        "Version of a spend API ends",
        "The version of a platform's API that a connection uses ends within 60 days.",
        "Update Headwater, or set a newer version with `headwater spend set`. Then check it:",
        "/spend/connections",
        "Update Headwater, or set a newer version in the connection's settings. Then check the connection.",
    ),
    Rule.KEY_EXPIRING: RuleText(
        "API key expires soon",
        "An API key that was used in the last 7 days expires within 7 days.",
        "Requests with it are refused afterwards. Replace it with `headwater key rotate`:",
        "/keys",
        "Requests with it are refused afterwards. Rotate it, and use the new key.",
    ),
    Rule.DELIVERIES_FAILED: RuleText(
        "Deliveries failing",
        "A far larger share of a platform's deliveries fails or is refused than usual.",
        "Check why the platform refuses them, fix it, and replay the failed deliveries.",
        "/platforms",
    ),
    Rule.IDENTIFIERS_MISSING: RuleText(
        "Conversions without identifiers",
        "A far larger share of a platform's conversions than usual has no click id, e-mail or other "
        "identifier, and can't be matched to an ad.",
        "Check that ad links keep their click ids through every redirect, and that orders contain the "
        "buyer's e-mail or phone number.",
        "/platforms",
    ),
    Rule.ORDERS_REPEATED: RuleText(
        "Orders sent twice",
        "Far more orders than usual repeat an order of the same contact within ten minutes.",
        "Two senders probably report the same orders. Stop one, or give both the same order id.",
        "/data-quality",
    ),
    Rule.UNATTRIBUTED_ROSE: RuleText(
        "Unattributed share jumped",
        "A far larger share of orders than usual has no touchpoint in the 30 days before it.",
        "Check that orders still contain the buyer (e-mail, visitor token), and that the shop's "
        "pages still send visits.",
        "/data-quality",
    ),
    Rule.SOURCE_VISITS_FELL: RuleText(
        "Visits of a source stopped",
        "Far fewer visits from a source than usual, while other sources are normal.",
        "Check that the ads run, and that their links keep their parameters through every redirect.",
        "/links",
    ),
    Rule.SOURCE_REVENUE_FELL: RuleText(
        "Revenue of a source low",
        "Revenue credited to a source by last touch is far below the same weekdays of earlier weeks.",
        "Compare the campaigns of the source with earlier weeks.",
        "",
    ),
    Rule.CUSTOM: RuleText(
        "Your own rules",
        "A figure of a report is below or above your threshold, or ads spend without orders.",
        "Compare the figure with its report. Change the rule if this is normal.",
        "/alerts/rules",
    ),
}

OF_COUNTS = frozenset(
    {
        Rule.VISITS_FELL,
        Rule.ORDERS_FELL,
        Rule.REJECTIONS_ROSE,
        Rule.DELIVERIES_FAILED,
        Rule.IDENTIFIERS_MISSING,
        Rule.ORDERS_REPEATED,
        Rule.UNATTRIBUTED_ROSE,
        Rule.SOURCE_VISITS_FELL,
        Rule.SOURCE_REVENUE_FELL,
    }
)
"""Rules that compare figures with their usual range."""
OF_DESTINATIONS = frozenset({Rule.DELIVERIES_FAILED, Rule.IDENTIFIERS_MISSING})
"""Rules with a destination's id as subject."""
SHARES = OF_DESTINATIONS | {Rule.UNATTRIBUTED_ROSE}
"""Rules that compare a share, from 0 to 1."""
OF_FIGURES = OF_COUNTS | {Rule.CUSTOM}
"""Rules about figures; the others are current problems."""
