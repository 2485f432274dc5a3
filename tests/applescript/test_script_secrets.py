"""Secrets of scripts: in dialogs, command lines and addresses, and account numbers."""

import pytest

from iac_base.secrets import REDACTED, redact_text


@pytest.mark.parametrize("text", [
    'display dialog "Your password:" default answer "?" with hidden answer',
    'app.displayDialog("Enter", {defaultAnswer: "?", hiddenAnswer: true})',
    'do shell script "echo ? | sudo -S rm x"', "security add-generic-password -a me -s srv -w ?",
    "openssl enc -aes256 -k ?", "networksetup -setairportnetwork en0 Home ?",
    "https://example.com/reset?auth=?&next=1", 'set thePin to "?"',
])  # fmt: skip
def test_secrets_of_dialogs_commands_and_addresses(text: str) -> None:
    secret = "hunter2xx"
    assert redact_text(text.replace("?", secret).replace(f"t{secret}a", "t?a")) == text.replace(
        "?", REDACTED
    ).replace(f"t{REDACTED}a", "t?a")


def test_account_numbers_are_told_by_their_check_digits() -> None:
    for right in ("DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "4111111111111111"):
        assert redact_text(f"to {right}.") == f"to {REDACTED}."
    for wrong in ("DE88 3704 0044 0532 0130 00", "GB83WEST12345698765432", "4111111111111112"):
        assert redact_text(f"to {wrong}.") == f"to {wrong}."


def test_a_question_for_a_secret_is_none() -> None:
    text = 'display dialog "Name of the token:" default answer "" buttons {"OK"}'
    assert redact_text(text) == text
    assert redact_text('display dialog "Name" default answer "Bob"').endswith('"Bob"')
