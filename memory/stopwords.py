"""Words too common to search by, Russian (ё as е) and English, as they are written and not as stems."""

from __future__ import annotations

_RUSSIAN = """
я меня мне мной мною ты тебя тебе тобой тобою он его него ему нему им ним нем она ее нее ей ней ею нею оно
мы нас нам нами вы вас вам вами они их них ими ними себя себе собой собою
мой моя мое мои моего моей моему моим моих моими моем мою моею
твой твоя твое твои твоего твоей твоему твоим твоих твоими твоем твою твоею
свой своя свое свои своего своей своему своим своих своими своем свою своею
наш наша наше наши нашего нашей нашему нашим наших нашими нашем нашу
ваш ваша ваше ваши вашего вашей вашему вашим ваших вашими вашем вашу ихний
этот эта это эти этого этой этому этим этих этими этом эту этою
тот та то те того той тому тем тех теми том ту тою сей сия сие сии сего сих
такой такая такое такие такого такому таким таких такими таком такую таков такова таково таковы
столько настолько
весь вся все всего всей всему всем всех всеми всю
сам сама само сами самого самой самому самим самих самими самом саму самый самая самое самые
иной иная иное иные другой другая другое другие другого другому другим других другую
каждый каждая каждое каждые каждого каждой каждому каждым каждую любой любая любое любые любого любому
кто кого кому кем ком что чего чему чем чтоб чтобы никто никого никому никем ничто ничего ничему ничем
какой какая какое какие какого какому каким каких какими каком какую каков какова каково каковы
который которая которое которые которого которой которому которым которых которыми котором которую
чей чья чье чьи чьего чьей чьему чьим чьих чьими чьем чью
где куда откуда когда почему зачем отчего как сколько насколько скольких скольким
кто-то что-то что-нибудь кто-нибудь какой-то какой-нибудь какие-то где-то где-нибудь когда-то когда-нибудь
куда-то как-то как-нибудь почему-то чей-то кое-что кое-кто кое-как чего-то кого-то кому-то что-либо кто-либо
нибудь либо кое таки ка
некто нечто некий некая некое некие некоторый некоторые некоторых несколько никакой никакая никакие никогда
нигде никуда никак некогда негде некуда
здесь там тут туда сюда оттуда отсюда тогда теперь сейчас так потому поэтому затем потом всегда иногда
и а но да или же ли бы б ж ль уж ведь вот вон ну не ни нет разве неужели даже лишь только просто уже еще
если хотя хоть пусть пускай будто словно чуть едва пока ибо зато однако также тоже притом причем либо нежели
в во на с со к ко о об обо у от ото из изо за до по под подо над надо при про для без безо через перед
передо между среди около возле вокруг после кроме ради вместо насчет вроде внутри вне сквозь против мимо
ввиду вследствие благодаря согласно относительно касательно навстречу
быть есть был была было были буду будешь будет будем будете будут будь будьте являться является являются
являлся являлась являлось являлись стал стала стало стали
мочь могу можешь может можем можете могут мог могла могло могли можно нельзя нужно надо
очень более менее больше меньше весьма слишком совсем вообще почти довольно прямо именно
ага угу ой ах эх эй мол де дескать т е д п г тд тп др итд
пожалуйста спасибо привет здравствуй здравствуйте
"""

_ENGLISH = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves one ones oneself
this that these those such same other others another each every either neither both all any some none
anybody anyone anything somebody someone something everybody everyone everything nobody noone nothing
anywhere somewhere everywhere nowhere somehow
who whom whose which what when where why how whoever whatever whichever whenever wherever however
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would ought cannot need
im ive youre youve hes shes theyre theyve weve thats whats wheres whos hows theres dont doesnt didnt isnt
arent wasnt werent wont cant couldnt shouldnt wouldnt havent hasnt hadnt gonna wanna gotta
a an the and but or nor if then else so than though although because since unless until while whether as
of at by for with about against between among into through during before after above below to from up down
in out on off over under upon within without toward towards onto per via along across around behind beside
besides beyond near
again further once here there now just only very too also quite rather really still already yet ever never
always almost even much many more most less least few little several own not no yes ok okay
let lets please thanks thank hello hi hey etc eg ie vs
"""

STOP_WORDS = frozenset(_RUSSIAN.replace("ё", "е").split() + _ENGLISH.split())
"""Folded words of both languages that are neither indexed nor searched for."""
