"""What people really write to a notebook, in both languages: kept, asked, or answered and not kept."""

from __future__ import annotations

import pytest

from bot.confidential import holds_secret
from bot.intents import Ask, Note, Talk, intent_of
from memory.service import MAX_MEMORY_CHARS
from memory.types import MemoryType, Origin

KEPT_RUSSIAN = [
    "Я переехал в Омск в 2019 году",
    "У меня аллергия на орехи",
    "Мою жену зовут Ольга",
    "Мне 34 года",
    "Мне 34",
    "Я вегетарианец",
    "Меня зовут Артём",
    "Мой день рождения 3 мая",
    "Мама родилась в Пскове",
    "Завтра в 10 встреча с юристом",
    "В пятницу лечу в Стамбул рейсом SU2136",
    "Мы с Петей договорились встретиться у метро Тульская",
    "Ключи от дачи у соседки",
    "Мой телефон 89141234567",
    "Размер обуви у сына 38",
    "Мы женаты с 2015 года",
    "Я работаю инженером на верфи",
    "Я не пью кофе после обеда",
    "Не люблю оперу",
    "Жена любит белые пионы",
    "Я люблю дождь",
    "Свадьбу отменили из-за дождя",
    "Мне больше подходят утренние тренировки",
    "Я боюсь летать на самолёте",
    "У меня болит спина после тренировок",
    "Мой врач — Иван Петрович Соколов",
    "Машина на техобслуживании до среды",
    "Купил билеты на «Щелкунчика» на 28 декабря",
    "Собаке прописали таблетки дважды в день",
    "Номер заказа 55120",
    "Я пишу код с 2010 года",
    "Почтовый индекс 690000",
    "Как я уже говорил, мы переехали в Казань",
    "Спасибо, а ещё у меня есть кот Мурзик",
    "Нет, мою собаку зовут Бублик",
    "Хочу выучить японский к лету",
    "Мне грустно без Ани",
    "Зови меня Тёмой",
    "Как ты знаешь, я живу в Казани",
    "Что бы ни случилось, я не ем мясо",
    "Куда бы я ни поехал, я беру зонт",
    "Надо записать сына к врачу",
    "У меня есть машина",
]
KEPT_ENGLISH = [
    "I moved to Lisbon in March",
    "I'm allergic to nuts",
    "I'm vegetarian",
    "I am 34",
    "My wife's name is Olga",
    "My birthday is on May 3rd",
    "Mum was born in Leeds",
    "Meeting with the lawyer tomorrow at 10",
    "I fly to Istanbul on Friday with TK1982",
    "Peter and I meet at the station at noon",
    "The keys to the cabin are with our neighbour",
    "My phone number is +44 20 7946 0958",
    "My son wears size 38 shoes",
    "We got married in 2015",
    "I work as an engineer at the shipyard",
    "I don't drink coffee after lunch",
    "I don't like opera",
    "My wife loves white peonies",
    "I love rain",
    "The wedding was cancelled because of the rain",
    "Morning workouts suit me better",
    "I'm afraid of flying",
    "My back hurts after the gym",
    "My doctor is Dr. Brown",
    "The car is at the garage until Wednesday",
    "Bought tickets for The Nutcracker on 28 December",
    "The dog takes two pills a day",
    "Order number 55120",
    "I have been writing code since 2010",
    "Our zip code is 90210",
    "Thanks to my wife I quit smoking",
    "Thanks! By the way, I have a cat called Tom",
    "No, my dog is called Biscuit",
    "I want to learn Japanese by summer",
    "I am sad because Tom left",
    "Call me Ann",
    "The weather station in our garden is from Davis",
    "I forgot my umbrella at Anna's place",
    "I have a good job",
    "Run 5 km every morning",
    "Play tennis on Saturdays",
    "Stop 14 is where I take the bus",
    "Set the price to 50 dollars",
    "Was born in 1990 in Perm",
    "Was at Anna's wedding in May",
]
ASKED_RUSSIAN = [
    "Спасибо, а как зовут собаку?",
    "спасибо а как зовут собаку",
    "Спасибо! Когда день рождения у мамы?",
    "привет как зовут мою собаку",
    "Ок, где ключи от дачи",
    "Слушай, а какой у меня размер обуви",
    "кто мой врач",
    "а рост какой",
    "Сколько лет сыну",
    "не помню, где ключи от дачи",
    "Забыл, как зовут врача",
    "Ты знаешь мой адрес",
    "Скажи мой адрес",
    "Назови мои аллергии",
    "Какая погода в Омске?",
    "Какой у меня пароль от вайфая?",
    "Есть ли у меня аллергия",
    "Любит ли жена пионы",
    "Когда я переехал в Омск?",
    "Как зовут мою собаку? Забыл.",
    "А что насчёт пятницы?",
    "Я вегетарианец?",
    "найди рейс в Стамбул",
    "что ты знаешь обо мне",
    "расскажи обо мне",
    "есть у меня машина",
    "паспорт в каком ящике",
    "забыл код от двери",
    "понятия не имею, где паспорт",
]
ASKED_ENGLISH = [
    "Thanks, and what is my dog called?",
    "thanks but where are the keys",
    "Thank you! When is mum's birthday?",
    "hi what is my dog called",
    "Ok, where are the keys",
    "who is my doctor",
    "how old is my son",
    "I forgot what my dog is called",
    "I don't remember where the keys are",
    "Don't remember where I put the keys",
    "Tell me my address",
    "List my allergies",
    "Is Anna married",
    "Does my wife like peonies",
    "Can I eat nuts",
    "What's the weather like?",
    "What is my wifi password?",
    "When did I move to Lisbon?",
    "What's my dog called? I forgot.",
    "And what about Friday?",
    "Am I vegetarian",
    "find my flight to Istanbul",
    "what do you know about me",
    "Who am I",
    "whats my dogs name",
    "wheres my passport",
    "any idea where my passport is",
    "my flight is at what time",
    "my dog is called what",
    "I forgot my door code",
    "Was the meeting at five",
    "can you remember my address?",
    "remember my address?",
]
TALK = [
    # weather and moods
    ("Погода сегодня отличная", "offline-idle"),
    ("Сегодня очень холодно", "offline-idle"),
    ("На улице дождь", "offline-idle"),
    ("На улице идёт дождь", "offline-idle"),
    ("сегодня минус 20 градусов", "offline-idle"),
    ("Я устал сегодня", "offline-idle"),
    ("мне очень грустно", "offline-idle"),
    ("У меня хорошее настроение", "offline-idle"),
    ("мне скучно", "offline-idle"),
    ("the weather is nice", "offline-idle"),
    ("The weather is nice today!", "offline-idle"),
    ("what a lovely day", "offline-idle"),
    ("It's raining again", "offline-idle"),
    ("It is so cold outside", "offline-idle"),
    ("I am so tired today", "offline-idle"),
    ("I feel great", "offline-idle"),
    ("I'm bored", "offline-idle"),
    # ignorance
    ("понятия не имею", "offline-idle"),
    ("я не знаю", "offline-short"),
    ("Я не уверен в этом", "offline-idle"),
    ("I have no idea", "offline-idle"),
    ("I don't know", "offline-short"),
    ("I'm not sure about that", "offline-idle"),
    ("I haven't a clue", "offline-idle"),
    # remarks, also about the bot
    ("ты мне нравишься", "offline-idle"),
    ("мне это нравится", "offline-idle"),
    ("ты глупый бот", "offline-idle"),
    ("это очень интересно", "offline-idle"),
    ("я скоро вернусь", "offline-idle"),
    ("хорошего тебе дня", "offline-idle"),
    ("I love you", "offline-idle"),
    ("I really like it", "offline-idle"),
    ("you are a stupid bot", "offline-idle"),
    ("that's interesting", "offline-short"),
    ("I'll be back soon", "offline-idle"),
    ("have a nice day", "offline-idle"),
    ("just kidding", "offline-idle"),
    ("happy new year", "offline-idle"),
    ("good job, bot", "offline-idle"),
    ("never mind, I was joking", "offline-idle"),
    ("that's not what I meant", "offline-idle"),
    ("This isn't what I asked for", "offline-idle"),
    ("that was not what I meant", "offline-idle"),
    ("я не то хотела сказать", "offline-idle"),
    ("don't be mad at me", "offline-idle"),
    ("ok, talk to you later", "offline-idle"),
    ("congratulations on your new job", "offline-idle"),
    ("поздравляю с новым годом", "offline-idle"),
    ("С днём рождения!", "offline-idle"),
    ("ну ладно, потом поговорим", "offline-idle"),
    ("не обижайся на меня", "offline-idle"),
    ("это не то, что я имел в виду", "offline-idle"),
    # thanks
    ("Спасибо, что напомнил мне про врача вчера вечером", "offline-thanks"),
    ("Спасибо!", "offline-thanks"),
    ("Thanks for reminding me of the meeting with the lawyer", "offline-thanks"),
    ("Привет, спасибо!", "offline-thanks"),
    # told not to keep it
    ("не запоминай мой адрес", "offline-not-kept"),
    ("Пожалуйста, не записывайте это: я болею", "offline-not-kept"),
    ("Мой адрес Ленина 5, не запоминай", "offline-not-kept"),
    ("не надо это запоминать", "offline-not-kept"),
    ("Don't remember this: my pin", "offline-not-kept"),
    ("please do not save this", "offline-not-kept"),
    ("I am ill (don't store that)", "offline-not-kept"),
    ("don’t keep my address", "offline-not-kept"),
    # secrets
    ("password is 12345", "offline-secret"),
    ("мой пароль qwerty", "offline-secret"),
    ("code from the sms is 4551", "offline-secret"),
    ("My password is swordfish", "offline-secret"),
    ("the wifi password: hunter2", "offline-secret"),
    ("My PIN is 4512", "offline-secret"),
    ("my card number is 4111 1111 1111 1111", "offline-secret"),
    ("4111-1111-1111-1111 is my visa", "offline-secret"),
    ("the gate code is 4512", "offline-secret"),
    ("Set the alarm code to 7711", "offline-secret"),
    ("the verification code is 881234", "offline-secret"),
    ("the key is Zq81xTt02LmPqR7vWn4K", "offline-secret"),
    ("пароль от вайфая 12345678", "offline-secret"),
    ("мой пароль: рыбамеч", "offline-secret"),
    ("пин-код карты 4512", "offline-secret"),
    ("код домофона 45к7812", "offline-secret"),
    ("код от подъезда 4512", "offline-secret"),
    ("номер карты 4111111111111111", "offline-secret"),
    ("мой паспорт 4509 123456", "offline-secret"),
    # what it cannot do
    ("Запиши меня к врачу", "offline-cannot"),
    ("запиши сына на плавание", "offline-cannot"),
    ("посоветуй хороший фильм", "offline-cannot"),
    ("давай сыграем в города", "offline-cannot"),
    ("book me a table for two", "offline-cannot"),
    ("Read me a story every night", "offline-cannot"),
    ("переведи мне новости раз в день", "offline-cannot"),
    ("Recommend a good film", "offline-cannot"),
    ("напомни позвонить маме", "offline-no-reminders"),
    ("разбуди меня в семь", "offline-no-reminders"),
    ("wake me at seven", "offline-no-reminders"),
    # nothing to keep
    ("запомни это", "offline-what"),
    ("запомни меня", "offline-what"),
    ("remember that", "offline-what"),
    ("remember what I said", "offline-what"),
    ("запомни то, что я сказал", "offline-what"),
    ("Запомни всё, что я тебе говорил раньше", "offline-what"),
    ("сохрани адрес", "offline-what"),
    ("запомни, ладно?", "offline-what"),
]
TOLD_TO_KEEP = [
    ("запомни: мой пароль 12345", "мой пароль 12345"),
    ("Запомни, что сегодня отличная погода", "сегодня отличная погода"),
    ("Запиши: меня зовут Аня", "меня зовут Аня"),
    ("запиши меня зовут Аня", "меня зовут Аня"),
    ("запомни: не записывай пароли на бумаге", "не записывай пароли на бумаге"),
    ("добавь в память: у Ани новый номер", "у Ани новый номер"),
    ("Спасибо! Запомни: ключи у соседки", "ключи у соседки"),
    ("remember: the weather is nice", "the weather is nice"),
    ("Remember that my PIN is 4512", "my PIN is 4512"),
    ("store this: the key is under the mat", "the key is under the mat"),
    ("Thanks! Remember: the keys are at Tom's", "the keys are at Tom's"),
    # a nod is asked for
    ("Запомни ключ у Оли, ладно?", "ключ у Оли"),
    ("запомни: витамины С, А", "витамины С, А"),
    ("запомни ключ у Оли хорошо?", "ключ у Оли"),
    ("запомни, у меня встреча завтра в 5. понял?", "у меня встреча завтра в 5"),
    ("Remember the key is at Olga's, ok?", "the key is at Olga's"),
    ("Remember dinner is at 7, please", "dinner is at 7"),
    ("запомни: у мамы всё хорошо", "у мамы всё хорошо"),
    # what begins like a question and is an order
    ("запомни кто я: врач", "кто я: врач"),
    ("Запиши, где ключ: под ковром", "где ключ: под ковром"),
    ("remember where the key is: under the mat", "where the key is: under the mat"),
    ("can you remember my flight is at 7?", "my flight is at 7"),
    ("could you please save my flight SU2136?", "my flight SU2136"),
    # nothing of the order is left over
    ("запомни-ка: ключ у Оли", "ключ у Оли"),
    ("Запиши-ка, что ключ у Оли", "ключ у Оли"),
    ("Запомни,пожалуйста,что ключ у Оли", "ключ у Оли"),
    ("сохрани адрес: Ленина 5", "адрес: Ленина 5"),
    ("Сохрани адрес Ленина 5", "адрес Ленина 5"),
    ("надо запомнить: ключ у Оли", "ключ у Оли"),
    ("прошу запомнить, что ключ у Оли", "ключ у Оли"),
    ("Do remember that the key is at Olga's", "the key is at Olga's"),
    ("Always remember that I am deaf", "I am deaf"),
    ("write down the address: Lenin St 5", "the address: Lenin St 5"),
]


@pytest.mark.parametrize("said", KEPT_RUSSIAN + KEPT_ENGLISH)
def test_what_a_person_tells_about_their_life_is_kept(said: str) -> None:
    assert isinstance(intent_of(said), Note)


@pytest.mark.parametrize("said", ASKED_RUSSIAN + ASKED_ENGLISH)
def test_a_question_is_answered_however_it_is_put(said: str) -> None:
    assert isinstance(intent_of(said), Ask)


@pytest.mark.parametrize(("said", "key"), TALK)
def test_what_will_not_matter_or_must_not_lie_about_is_not_kept(said: str, key: str) -> None:
    assert intent_of(said) == Talk(key)


@pytest.mark.parametrize(("said", "content"), TOLD_TO_KEEP)
def test_whoever_says_remember_is_obeyed(said: str, content: str) -> None:
    assert intent_of(said) == Note(content, MemoryType.FACT)


@pytest.mark.parametrize(
    "said", ["Dress code: black tie", "исходный код лежит на сервере", "I forgot my password", "код ошибки"]
)
def test_a_word_that_may_name_a_secret_is_none_by_itself(said: str) -> None:
    assert not holds_secret(said)


@pytest.mark.parametrize("lead", ["", "remember: "])
def test_what_is_too_long_for_a_memory_is_asked_for_in_parts(lead: str) -> None:
    told = "We moved to Lisbon. " * (MAX_MEMORY_CHARS // 20)
    assert intent_of(lead + told) == Note(told.strip(), MemoryType.FACT)
    assert intent_of(f"{lead}{told} And then to Porto.") == Talk("offline-too-long")


@pytest.mark.parametrize(
    "said",
    ["что ты помнишь?", "покажи всё", "покажи воспоминания", "what do you remember?", "show me everything"],
)
def test_who_asks_for_all_of_it_is_pointed_to_the_list(said: str) -> None:
    assert intent_of(said, Origin.PERSON) == Ask(said, everything=True)


@pytest.mark.parametrize("said", ["ты ChatGPT?", "are you Claude?", "кто тебя создал?", "who made you?"])
def test_questions_about_the_bot_itself_are_no_questions_to_memory(said: str) -> None:
    assert intent_of(said, Origin.PERSON) == Talk("offline-hello")
