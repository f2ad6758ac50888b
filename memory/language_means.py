"""The mean vectors of the bundled models for neutral sentences and questions, and how they were made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TypeAlias

import numpy as np

from memory.cues import is_question
from memory.ports import Purpose
from memory.text import language_of
from memory.types import Vector

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

QUESTIONS = {
    "en": (
        "When does the train to the coast leave?",
        "How much did she pay for the apples at the market?",
        "What colour are our neighbours painting their fence?",
        "Which sport did I want to take up this spring?",
        "Who taught me how to bake bread?",
        "Where did I leave my umbrella?",
        "How long have they been married?",
        "What did the doctor advise him to do?",
        "Why was the meeting moved to Thursday?",
        "What kind of music do I like to listen to in the car?",
        "How many boxes did the children use for their tower?",
        "When is the library closed?",
        "What is the name of my cousin's boat?",
        "Where does her brother work?",
        "Which book am I reading at the moment?",
        "What are we planning to do in August?",
        "Did I already send the documents?",
        "What does he prefer to drink in the evening?",
        "How old is the bridge over the river?",
        "Who won the match last Sunday?",
        "What is wrong with the battery of this phone?",
        "Where can I buy fresh rolls near the school?",
        "What did I say about the new budget?",
        "Has the price of electricity gone up again?",
    ),
    "ru": (
        "Когда отправляется поезд в соседний город?",
        "Сколько она заплатила на рынке за картошку?",
        "В какой цвет наши соседи красят забор?",
        "Каким спортом я хотел заняться этой весной?",
        "Кто научил меня печь пироги?",
        "Где я забыл свой зонт?",
        "Сколько лет они женаты?",
        "Что врач посоветовал ему делать?",
        "Почему совещание перенесли на четверг?",
        "Какую музыку я люблю слушать в машине?",
        "Из чего дети построили крепость?",
        "По каким дням закрыта библиотека?",
        "Как называется лодка моего двоюродного брата?",
        "Где работает её брат?",
        "Какую книгу я сейчас читаю?",
        "Что мы собираемся делать в августе?",
        "Отправил ли я уже документы?",
        "Что он обычно пьёт по вечерам?",
        "Сколько лет старому мосту?",
        "Кто выиграл матч в воскресенье?",
        "Что случилось с батареей этого телефона?",
        "Где рядом со школой можно купить булочки?",
        "Что я говорил о новом проекте?",
        "Снова ли подорожало электричество?",
    ),
}
"""The same topics as questions: models group by the kind of a sentence as well."""


Means: TypeAlias = Mapping[str, Mapping[str, Vector]]
"""By "sentence" or "question", then by language: vectors of shape (dimensions,)."""


@cache
def means_of(model: str) -> Means:
    """Return the shipped means of a bundled model."""
    text = resources.files("memory").joinpath(f"means_{model}.json").read_text(encoding="utf-8")
    return {
        kind: {language: np.array(mean, np.float32) for language, mean in means.items()}
        for kind, means in json.loads(text).items()
    }


def centred(raw: Vector, texts: Sequence[str], purpose: Purpose, means: Means) -> Vector:
    """Take the mean of its kind and language off each row, and bring all to length one.

    Models group texts by language, and questions apart from statements, before they group them by meaning;
    this undoes it.
    """
    mine = [means[_kind(text, purpose)][language_of(text)] for text in texts]
    return normalised(raw - np.stack(mine))


def normalised(vectors: Vector) -> Vector:
    """Return rows of length one; a row of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vector = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return result


def compute_means(encode_raw: Callable[[Sequence[str]], Vector]) -> Means:
    """Return the means as they were made. The shipped ones never change: stored vectors depend on them."""
    kinds = {"sentence": SENTENCES, "question": QUESTIONS}
    return {
        kind: {language: encode_raw(texts).mean(axis=0) for language, texts in by_language.items()}
        for kind, by_language in kinds.items()
    }


def as_json(means: Means) -> str:
    """Return what stands in the shipped file."""
    rounded = {
        kind: {language: [round(float(value), DIGITS) for value in mean] for language, mean in each.items()}
        for kind, each in means.items()
    }
    return json.dumps(rounded) + "\n"


def _kind(text: str, purpose: Purpose) -> str:
    return "question" if purpose is Purpose.QUERY and is_question(text) else "sentence"
