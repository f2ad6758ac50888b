"""What people say to be polite: greetings, thanks, the weather, moods, that they do not know."""

from __future__ import annotations

import re

from bot.lexicon import ABOUT_BOT, ABOUT_PEOPLE, LIKING
from bot.wording import QUESTION_WORD, WORD, any_of, pattern
from memory.text import stems

POLITE_WORDS = 8
"""A longer message says more than a greeting."""

_HELLO = any_of(
    "привет | приветик | приветствую | здравствуй | здравствуйте | хай | салют | доброго времени суток",
    "добрый день | добрый вечер | доброе утро | доброй ночи",
    "hello | hi | hey | greetings | good morning | good afternoon | good evening | good day",
)
_WHOM = any_of("бот | всем | bot | there | all")
_THANKS = any_of("спасибо | спс | благодарю | большое спасибо | thanks | thank you | thx | ty | cheers")
_VERY = any_of(
    "большое | огромное | тебе | вам | бот | много раз",
    "so much | very much | a lot | a million | again | bot",
)
_SEEN = any_of("ок | окей | ладно | хорошо | понятно | ясно | понял | поняла | ok | okay | got it | i see")
_BREAK = r"\s*[,.!;\n)—–-]+\s*"
# Without a comma only what can hardly belong to the greeting ends it.
_GOES_ON = rf"\s+(?=(?:{any_of('а | и | но | so | and | but')}\s+)?{QUESTION_WORD})"
_SAYS_MORE = rf"\s+(?={any_of('я | мы | мне | меня | у меня | мо[йяюеё]и? | i | my | we')}\s)"
_FOR = rf"\s*{any_of('что | that | за')}\s"
LEAD = pattern(
    rf"{_HELLO}(?:\s+{_WHOM})?(?:{_BREAK}|{_GOES_ON}|{_SAYS_MORE})",
    rf"|{_THANKS}(?:\s+{_VERY})*(?:{_BREAK}(?!{_FOR})|\s+(?={any_of('а | но | but')}\s))",
    rf"|{_SEEN}{_BREAK}",
)

# These are matched against the bare words of a whole message, lower case and with е for ё.

_GREETINGS = pattern(_HELLO, r"(?:\s", any_of(_HELLO, "бот | всем | bot | there | все | all"), ")*")
_THANKED = pattern(
    _THANKS, rf"(?:(?:\s{_VERY})*\s{any_of('за | что | for | that')}\s.*|(?:\s(?!to\s)\w+){{0,4}})$"
)
_ASKS_BOT = pattern(
    rf"(?:{_HELLO}\s)?",
    any_of(
        "кто ты | ты кто | кто вы | как тебя зовут | что ты умеешь | что ты можешь | что ты такое",
        "как дела | как у тебя дела | как ты | как жизнь | помощь | помоги | старт",
        "who are you | what are you | what['’]?s your name | what is your name | what can you do",
        "how are you | how are you doing | how are you today | help | start",
        "ты бот | ты человек | ты робот | ты ии | ты claude | ты клод | ты gpt | ты chatgpt | вы бот",
        "кто тебя создал | кто тебя сделал | кто твой создатель | чей ты бот",
        "are you a bot | are you human | are you a human | are you a robot | are you an ai | are you claude",
        "are you chatgpt | are you gpt | who made you | who created you | who built you",
    ),
)
_FILLER = any_of(
    "да | нет | не | ага | угу | ок | окей | хорошо | ладно | понятно",
    "понял | поняла | ясно | верно | точно",
    "класс | круто | супер | отлично | здорово | ха | хаха",
    "пока | до свидания | до завтра | до встречи | спокойной ночи",
    "лол | хм | ну | я | тоже | не знаю | не надо | все | конечно | давай | молодец | тест | проверка | так",
    "это | и | а | очень | ничего | неважно",
    "yes | no | nope | yeah | yep | ok | okay | k | sure | fine | good",
    "great | cool | nice | wow | lol | haha",
    "hm | hmm | bye | goodbye | see you | good night | i see | i know",
    "i agree | i understand | got it | right",
    "i don['’]?t know | correct | well | so | test | testing | very | it",
    "is | that | that['’]?s | done | me too",
    "nothing | never mind",
)
_FILLERS = pattern(_FILLER, rf"(?:\s{_FILLER})*")

_REMARK = any_of(
    "never mind | i was joking | i was just joking | i was kidding | just kidding | just testing | my bad",
    r"(?:good|great|nice|excellent) (?:job|work) | well done | good luck | no problem | no worries",
    r"(?:that|it|this)(?:['’]?s|\s(?:is|was|isn['’]t|wasn['’]t))(?: not)? what i "
    r"(?:meant|said|asked|wanted)(?: (?:for|to say))?",
    "i didn['’]?t mean that | i didn['’]?t mean it | i meant something else | no offen[cs]e | take care",
    r"don['’]?t (?:worry|be mad|be angry|be sad|be upset)(?: (?:about it|about that|at me|with me))?",
    r"(?:i['’]?ll )?(?:talk|speak|write|see|catch) (?:to )?(?:you )?later | sweet dreams | nice to meet you",
    r"(?:i )?(?:have to|gotta|got to|need to) (?:go|run) | long time no see | have a good one",
    r"(?:i wish you a )?(?:happy|merry) (?:new year|birthday|christmas|easter|holidays?|weekend)(?: to you)?",
    r"(?:congratulations|congrats)(?: on .*)?",
    r"(?:я )?поздравляю(?: (?:тебя|вас|всех))?(?: с .*)? | поздравляю",
    r"с (?:новым годом|днем рождения|рождеством|праздником|наступающим|возвращением|пасхой|юбилеем)",
    r"(?:потом|позже|завтра|еще|как-нибудь) (?:поговорим|спишемся|увидимся|продолжим|напишу|обсудим)",
    r"не (?:обижайся|сердись|злись|переживай|волнуйся|парься|грусти)(?: (?:на меня|из-за этого))?",
    r"(?:(?:это|я) )?не (?:то|это|так|об этом)(?: что)?(?: я)? "
    r"(?:имела? в виду|хотела? сказать|спрашивала?|просила?|говорила?|сказала?)",
    "ты меня не понял | вы меня не поняли | забей | проехали | как скажешь | так держать | береги себя",
    r"(?:хорошая|отличная|прекрасная) работа | всего (?:доброго|хорошего|наилучшего) | приятного аппетита",
    r"приятно познакомиться | давно не виделись | я (?:просто )?(?:шучу|пошутил|пошутила) | до скорого",
)
_REMARKED = pattern(rf"(?:{_FILLER}\s)*{_REMARK}(?:\s(?:{_REMARK}|{_FILLER}|{_WHOM}))*")


def _stems(*words: str) -> frozenset[str]:
    return frozenset(stems(" ".join(words)))


_WEATHER = _stems(
    "погода погодка дождь дождик дождливо снег снежно солнце солнечно ветер ветрено туман гроза метель град",
    "жара жарко жарища тепло холод холодно холодина мороз морозно слякоть лужи пасмурно облачно сыро душно",
    "прохладно скользко ливень льёт ведра моросит метёт тает небо тучи градус минус плюс",
    "weather rain rainy raining snow snowy snowing sun sunny wind windy fog foggy storm stormy hail cloud",
    "cloudy warm cold hot chilly freezing humid wet sky drizzle degrees minus",
)
_MOODS = _stems(
    "настроение устал усталый грустно грустный весело весёлый скучно скучный рад рада счастлив счастлива",
    "злой злюсь злая расстроен расстроена тоскливо одиноко спокойно тревожно волнуюсь нервничаю бодрый",
    "голоден голодный проголодался сплю спать сонный хочется хочу плохо хорошо нормально отлично неплохо",
    "чувствую лень бесит достало надоело",
    "mood tired sad happy glad bored boring angry upset lonely calm anxious nervous hungry thirsty sleepy",
    "sleep exhausted excited feel feeling feels fed lazy stressed want",
)
_REMARKS = _stems(
    "сегодня вчера завтра утро утра день дня вечер вечера ночь ночи неделя выходные",
    "скоро снова опять поздно рано долго давно пора",
    "минута минутка минутку секунда секунду момент подожди погоди улица окно идёт идет стоит светит выглядит",
    "хороший плохой отличный прекрасный прекрасно замечательный замечательно ужасный ужасно чудесный чудесно",
    "красиво красивый кошмар ужас страшный странный странно смешно смешной интересно интересный важно правда",
    "неправда верно точно прав права знать знаю помнить помню забыл понятие имею представление представляю",
    "уверен уверена думаю думать кажется надеюсь понимаю понял согласен согласна спорить сказать говорить",
    "поговорить поболтать шучу пошутил шутка вернусь вернулся вернулась пришёл ушёл занят занята дома домой",
    "иду пойду работа работе удача удачи пожелай желаю приятный приятно умный умница глупый тупой молодец",
    "бот помощь помочь помог помогла помоги нужно нужна нужен привет пока извини извините прости простите",
    "блин чёрт боже дела жизнь вещь штука видеть увидимся виделись встретимся время жаль жалко слышать",
    "равно как-нибудь встречи скорой люблю нравится нравишься обожаю ненавижу",
    "today yesterday tomorrow tonight morning day evening night week weekend soon late early long time",
    "minute second moment wait hold outside look looks looking sound sounds seem seems",
    "good bad great nice lovely wonderful beautiful awful terrible horrible amazing strange weird funny",
    "interesting important true false right wrong sure know remember idea clue forget forgot think guess",
    "believe hope see understand agree mean say said talk chat speak kidding joke joking back home way busy",
    "go going work luck wish smart stupid dumb clever bot help helped sorry pardon excuse welcome damn hell",
    "get got dead god omg oh thing life world meet later maybe perhaps pity hear care matter problem worry",
    "pretty bit",
    "like love hate enjoy adore",
)
_IDLE = _WEATHER | _MOODS | _REMARKS
_LIKINGS = _stems("люблю нравится нравятся нравишься обожаю ненавижу like love hate enjoy adore really")


def polite_key(said: str) -> str | None:
    """Return the text that answers a greeting, thanks, or words that mean nothing by themselves.

    None where the message is nothing of the kind.
    """
    found = WORD.findall(said.casefold().replace("ё", "е"))
    if not found:
        return "offline-short"
    words = " ".join(found)
    if _THANKED.match(words) and "?" not in said:
        return "offline-thanks"
    if len(found) > POLITE_WORDS:
        return None
    if _ASKS_BOT.fullmatch(words) or _GREETINGS.fullmatch(words):
        return "offline-hello"
    if _FILLERS.fullmatch(words):
        return "offline-short"
    return "offline-idle" if _REMARKED.fullmatch(words) and "?" not in said else None


def is_idle(said: str) -> bool:
    """Tell whether a sentence holds nothing that will matter later: weather, moods, remarks about the bot.

    What somebody likes counts only by what it is that they like.
    """
    if ABOUT_BOT.match(said) and not ABOUT_PEOPLE.search(said):
        return True
    found = frozenset(stems(said))
    if LIKING.search(said):
        return found <= _LIKINGS
    numbers = frozenset(word for word in found if re.fullmatch(r"\d+", word)) if found & _WEATHER else set()
    return found - numbers <= _IDLE
