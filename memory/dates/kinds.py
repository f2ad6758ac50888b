"""The kinds of words that the grammar of times knows, each one letter.

    d today, yesterday      D вчерашний             5 tonight, recently    9 12.03
    M март                  E English month         m may, march           b Jan, янв
    W Tuesday               w вторник, weekend      v Tue, вт              7 every
    K holiday               C Рождеством            p morning, вечером     J накануне
    S летом                 s summer, лета          F fall                 c числа
    u unit                  P units                 g year                 4 г
    n number                N vague number          t twenty, thirty       o ordinal
    y 2024                  Y a year for sure       1 a, an                % counted things
    B beginning, end of     0 начала                3 early, mid, late     2 earlier
    L last                  l past, последний       X next                 Q позапрошлый
    H this                  8 это                   a ago                  q back
    I in                    i в, during             x на, for              j on, at
    6 since                 f from                  T to, по               U until, до
    V before                A after                 k between              # by, as of
    z через                 G from now              e тому                 O of
    & and                   h the                   , - | marks            _ any other word

Most tokens have a value: a span, a name that recurs, a unit, a number. Rules add R, a name that is a time by
itself, and Z, a span; what is Z in the end is a window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Line: TypeAlias = tuple[str, str, Callable[..., Any]]
"""A rule: the kind of the token that it makes, the pattern of the kinds it is made of, and how.

The function gets now and the value of each group of the pattern, each group being one token; None, ValueError
and OverflowError mean that it makes no sense (31 February), and then a later rule may read a part of it.
Patterns repeat nothing without a bound, so that a text costs time in its length.
"""

UNIT = "([ugP])"
COUNT = "1?(n|N)O?1?"
YEARLY = "([RMEmsSFKC])"
TIME = "([ZRMEsKCWwvy])"
LEADING = "[OIixjf]?h?"
NOT_AMOUNT = "(?![-%uP])"
