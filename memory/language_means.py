"""The mean vectors of the bundled model for neutral Russian and English, and how they were made."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources

import numpy as np

from memory.types import Vector

FILE = "language_means.json"
DIGITS = 7

SENTENCES = {
    "en": (
        "The train to the coast leaves at half past seven in the morning.",
        "She bought two kilos of apples and a jar of honey at the market.",
        "Our neighbours are repainting their fence this weekend.",
        "It has been raining since yesterday and the river is rising.",
        "He prefers tea without sugar in the evening.",
        "The meeting about the new budget was moved to Thursday.",
        "My grandmother taught me how to bake bread.",
        "The children built a tower out of cardboard boxes.",
        "You can change the password on the settings page.",
        "They have been married for eleven years and live near the lake.",
        "The doctor advised him to walk more and to sleep longer.",
        "A small cat was sitting on the windowsill and looking at the birds.",
        "The film was longer than I expected, but the music was beautiful.",
        "Prices for electricity went up again last month.",
        "I left my umbrella on the bus and had to go home in the rain.",
        "The library is closed on Mondays and on public holidays.",
        "Her brother works as an electrician in a large factory.",
        "We are planning a trip to the mountains in August.",
        "The second half of the match was much better than the first.",
        "Please send me the documents before the end of the week.",
        "He is learning to play the guitar and practises every day.",
        "The old bridge was built more than a hundred years ago.",
        "This phone needs a new battery because it switches off too soon.",
        "There is a good bakery around the corner, next to the school.",
    ),
    "ru": (
        "Поезд в соседний город отправляется в половине восьмого утра.",
        "Она купила на рынке два килограмма картошки и банку варенья.",
        "Наши соседи в эти выходные красят забор на даче.",
        "Со вчерашнего дня идёт снег, и дороги совсем замело.",
        "По вечерам он обычно пьёт чай без сахара.",
        "Совещание о новом проекте перенесли на четверг.",
        "Бабушка научила меня печь пироги с капустой.",
        "Дети построили во дворе крепость из старых коробок.",
        "Пароль можно поменять на странице настроек.",
        "Они женаты одиннадцать лет и живут недалеко от озера.",
        "Врач посоветовал ему больше ходить и раньше ложиться спать.",
        "На подоконнике сидела маленькая кошка и смотрела на птиц.",
        "Фильм оказался длиннее, чем я думал, но музыка была красивая.",
        "В прошлом месяце снова подорожало электричество.",
        "Я забыл зонт в автобусе и возвращался домой под дождём.",
        "По понедельникам и в праздники библиотека закрыта.",
        "Её брат работает электриком на большом заводе.",
        "В августе мы собираемся поехать в горы.",
        "Второй тайм матча был гораздо интереснее первого.",
        "Пришлите мне, пожалуйста, документы до конца недели.",
        "Он учится играть на гитаре и занимается каждый день.",
        "Старый мост построили больше ста лет назад.",
        "Этому телефону нужна новая батарея, он слишком быстро выключается.",
        "За углом, рядом со школой, есть хорошая булочная.",
    ),
}
"""Everyday topics, and about the same ones in both languages, so that only the language remains."""


@cache
def language_means() -> dict[str, Vector]:
    """Return the shipped means, one for each language, shape (dimensions,)."""
    text = resources.files("memory").joinpath(FILE).read_text(encoding="utf-8")
    return {language: np.array(mean, np.float32) for language, mean in json.loads(text).items()}


def compute_means(encode_raw: Callable[[Sequence[str]], Vector]) -> dict[str, Vector]:
    """Return the means as they were made. The shipped ones never change: stored vectors depend on them."""
    return {language: encode_raw(texts).mean(axis=0) for language, texts in SENTENCES.items()}


def as_json(means: dict[str, Vector]) -> str:
    """Return what stands in the shipped file."""
    rounded = {language: [round(float(value), DIGITS) for value in mean] for language, mean in means.items()}
    return json.dumps(rounded) + "\n"
