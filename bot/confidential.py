"""Tells whether a sentence holds a secret: a password, a PIN, the number of a card, a key."""

from __future__ import annotations

import re

from bot.wording import END, any_of, pattern

_VALUE = r"(?:\s+\S+){0,5}?\s*(?:[:=—–-]|\bis\b|\bare\b|\bэто\b)?\s*"
_PASSWORD = any_of(
    r"парол\w* | пин | пин-?код\w* | кодов\w+ слов\w+ | сид-?фраз\w* | контрольн\w+ слов\w+",
    r"секретн\w+ ключ\w* | приватн\w+ ключ\w* | ключ api | api-?ключ\w* | cvv2? | cvc2?",
    r"passwords? | passcodes? | passphrases? | pin | pin-?codes? | pin numbers? | seed phrases?",
    r"secret keys? | private keys? | api[- ]?keys? | access tokens?",
)
_CODE = any_of(r"код\w{0,2} | codes?")
# Codes that are told to everybody, and code that is written.
_OPEN = any_of(
    r"почтов\w+ | телефонн\w+ | междугородн\w+ | исходн\w+ | пиш\w+ | zip | postal | post | area | country",
    "dress | source | error | write | writing | wrote",
)
_NOT_A_YEAR = r"(?<!\bс\s)(?<!\bв\s)(?<!\bin\s)(?<!since\s)"
_NUMBERED = any_of(
    r"номер\w* карты | номер\w* карточки | номер\w* паспорта | паспорт | снилс | инн",
    r"card numbers? | credit card | debit card | passport numbers? | passport | ssn | social security number",
    r"iban | account number",
)

_SECRETS = (
    # A password is told by what follows it; a mere mention of it is none.
    pattern(rf"(?<!\w){_PASSWORD}{END}{_VALUE}(?:\S*\d|(?<=[:=—–]\s)\S)"),
    pattern(rf"(?<!\w){_PASSWORD}{END}(?:\s+\S+){{0,5}}?(?:\s*[:=—–]\s*|\s+-\s+|\s+(?:is|это)\s+)\S+\W*$"),
    pattern(rf"(?<!\w){_PASSWORD}(?:\s+{any_of('от | для | of | for')}\s+\S+)?\s+\S+\W*$"),
    pattern(rf"(?<!\w)(?<!-){_CODE}{END}(?:\s+\S+){{0,4}}?\W*\b{_NOT_A_YEAR}\w*\d{{3,}}"),
    pattern(rf"(?<!\w){_NUMBERED}{END}.{{0,40}}?\d{{3,}}"),
    re.compile(r"(?<![\w+])\d(?:[ -]?\d){12,18}(?!\w)"),
    re.compile(r"(?<!\S)(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[\w+/=.:-]{20,}(?!\S)", re.ASCII),
    re.compile(r"-----BEGIN [A-Z ]+-----"),
)
_OPEN_CODE = pattern(rf"(?<!\w){_OPEN}\s+{_CODE}{END}")


def holds_secret(said: str) -> bool:
    """Tell whether the words look like a secret; better too often, as it can be kept all the same."""
    return any(secret.search(_OPEN_CODE.sub(" ", said)) for secret in _SECRETS)
