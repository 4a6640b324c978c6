"""Texts that cannot be settled by looking at a scene: greetings, opinions, commands, other topics, gibberish, other
languages. A reader learns from them to say that it did not understand a statement of the scene."""

from __future__ import annotations

import random

from veriscene.english.pattern import with_articles
from veriscene.english.speaker import Speaker
from veriscene.english.words import lexicon_of, word_list
from veriscene.language.language import Language

_SLOTS = {
    "PERSON": "(I|we|you|my (sister|brother|boss|friend)|the (president|doctor|king)|(Anna|Tom|Ali)|nobody|everyone)",
    "THING": (
        "(coffee|pizza|the weather|football|my car|the train|a new phone|the movie|music|breakfast|the garden|homework|"
        "the stock market|chess|a holiday|the internet|this website|politics|a sandwich|the kitchen|bread|the bus|"
        "my keys|a good book|the ocean|history|maths|dinner|the office|a dentist|the news|snow|the city)"
    ),
    "TIME": (
        "(today|tomorrow|yesterday|last (week|year|night)|next (week|month)|right now|every morning|in 1999|on Monday|"
        "soon|at (noon|night))"
    ),
}
_CHAT = (
    "(hi|hello|hey|good (morning|evening)|howdy|yo)[ there| everyone| friend][!|.|, how are you?|, what's up]",
    "(thanks|thank you|cheers)[ a lot| so much| very much][!|.]",
    "(bye|goodbye|see you[ later| soon| tomorrow]|good night)[!|.]",
    "(how (are|old are) you|what's your name|who (are|made) you|are you a (robot|human|person))[ today][?|]",
    "(ok|okay|yes|no|maybe|sure|fine|great|cool|nice|wow|lol|hmm|please|sorry|test|help|what|why|really)[.|!|?|??]",
    "(I|we) (don't|do not) (know|care|understand)[ what to (say|write|type)][.|]",
    "(can|could) you (help me|tell me a joke|sing a song|speak German|repeat that|explain yourself)[ please][?|]",
    "(tell me|write|say|give me) (a joke|something nice|a story|your opinion|the answer|the time)[ please| now][.|!|]",
    "(what|how) (is|about) {THING}[?|]",
    "what (time|day|year) is it[ in (London|Tokyo|Berlin)][?|]",
    "(is this thing on|(does|how does) this work|what can you do|what am I supposed to (do|type))[?|]",
)
_TOPICS = (
    "{PERSON} (like|likes|love|hates|bought|forgot|wants|saw|needs|lost|found) {THING}[ {TIME}][.|]",
    "{THING} (is|was|will be) (great|boring|expensive|late|broken|fun|delicious|closed|free|cold)[ {TIME}][.|!|]",
    "{PERSON} (went|drove|walked|is going) to (Paris|work|school|the beach|the shop|the gym)[ {TIME}][.|]",
    "(is|was) {THING} (good|bad|over|open|cheap|dangerous)[ {TIME}][?|]",
    "(it's|it is) (raining|snowing|sunny|late|cold outside|my birthday|Friday|a nice day)[ {TIME}][.|!|]",
    "the (capital|population|weather) of (France|China|Peru|Egypt) is (Paris|large|growing|nice|unknown)[.|]",
    "(water|ice|wood|iron) (boils|floats|melts|is heavier than (water|air)|burns)[ at (a hundred|zero) degrees][.|]",
    "(two|three|five|seven) (plus|times|minus) (one|two|four|six) (is|equals) (three|four|ten|twelve)[.|]",
    "(should|will|did) {PERSON} (buy|eat|watch|fix|sell) {THING}[ {TIME}][?|]",
    "{PERSON} (think|thinks|said|says) {THING} (is|was) (nice|awful|fake|over)[.|]",
    "(birds|people|children|robots) (like|eat|need|chase|are afraid of) {THING}[.|]",
)
_ABOUT_THE_SCENE = (  # about its items or boxes, but not to be settled by looking
    "(I|we|she|they) (like|love|prefer|hate|don't like) the {ONE}[ (best|more|a lot|very much)][.|]",
    "the {ONE} (is|looks) (prettier|nicer|ugly|sad|happy|my favourite|the best|lonely)[ (to me|in my opinion)][.|]",
    "[please |can you ](delete|remove|move|add|rotate|draw|turn) the {ONE}[ to the left| away][ please][.|!|?|]",
    "[please |can you ](paint|make|colour) the {ONE} ({VALUE}|bigger|upside down|into a house)[ please][.|!|?|]",
    "(draw|add|show|give|paint) (me|us|) (a|another|two more) {KIND}[ please| next to it][.|!|]",
    "the {ONE} (will|is going to|might|used to|wants to) (fall|move|disappear|explode|grow|leave)[ {TIME}][.|]",
    "(someone|a child|an artist|nobody) (drew|painted|moved|made|touched|stole|chose) the {ONE}[ {TIME}][.|]",
    "the {ONE} (was|were|has been) (drawn|painted|made|added|moved|bought) (by hand|first|in a hurry)[ {TIME}][.|]",
    "the {ONE} (is|are) (made of (wood|metal)|heavy|warm|soft|from Italy|older than me|asleep|alive|for sale)[.|]",
    "(why|how|when|where|who) (is|did|was|are) the {ONE} (there|like that|made|painted|get there|so small)[?|]",
    "(what|which) {KIND} (do you like|is the best|should I choose|would you take|comes next)[?|]",
    "(behind|underneath|inside) the {ONE} (there is|hides|you would find) (a secret|treasure|another world)[.|]",
    "(a|the) {KIND} (means|symbolizes|stands for|represents) (luck|peace|danger|love|nothing)[.|]",
    "the {BOX} (is|smells|feels|tastes) (expensive|good|bad|funny|haunted|comfortable|tidy enough)[.|]",
    "(what|how many|which|where) (is|are|do you see) (in |)the {BOX}[?|]",
    "(next time|tomorrow|in the next picture|before) there (will be|were|might be) (a|two|more) {KIND}[.|]",
    "(I|we) (like|prefer|love) {KIND} (better than|more than|over) {KIND}[ tbh| anyway][.|]",
    "(I|we) (wish|hope|want|wonder if|bet) there (was|were|would be) (a|more|fewer) {KIND}[.|]",
)
_OTHER_LANGUAGES = (  # one or two to a line
    "(guten Morgen|wie geht es dir|ich habe Hunger|das ist ein Haus|wo ist der Bahnhof|es regnet heute)",
    "(im linken Kasten ist ein Kreis|alle Dreiecke sind blau|es gibt drei gelbe Quadrate|kein Kreis ist schwarz)",
    "(bonjour tout le monde|je ne sais pas|il y a un carré bleu|où est la gare|tous les cercles sont noirs)",
    "(hola, ¿qué tal?|hay un círculo amarillo|no entiendo nada|todos los cuadrados son negros|buenas noches)",
    "(ciao bella|c'è un triangolo nero|non lo so|tutti i cerchi sono gialli|dov'è il bagno|buona sera)",
    "(bom dia|há dois quadrados azuis|não sei|todas as caixas têm um círculo|obrigado|eu gosto de música)",
    "(hej, hur mår du|det finns en blå cirkel|jag vet inte|goedemorgen|er is een gele driehoek|ik weet het niet)",
    "(dzień dobry|jest tu czarny kwadrat|nie wiem|dobrý den|jak se máš|je tam modrý kruh)",
    "(merhaba nasılsın|mavi bir daire var|bilmiyorum|hei, mitä kuuluu|on olemassa musta neliö|köszönöm szépen)",
    "(привет как дела|здесь есть синий круг|я не знаю|γεια σου|υπάρχει ένας κύκλος)",
    "(こんにちは|青い丸があります|你好吗|有一个黄色的三角形|안녕하세요|파란 원이 있어요)",
    "(مرحبا كيف حالك|שלום מה שלומך|नमस्ते आप कैसे हैं|habari yako|selamat pagi|xin chào bạn|sawubona)",
    "(salve amice|quid agis|lorem ipsum dolor sit amet|tere hommikust|labas rytas)",
)
_LETTERS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890", "abcdefghijklmnopqrstuvwxyz", "bcdfghjklmnpqrstvwxz")
_SIGNS = "?!.,;:-_#*+=/0123456789"
_SMALL_WORDS = word_list("the of if unless both and no than all is")
_UNRELATED = word_list(
    "sky run blorp fast window seven because apple under jump metal quiet often idea never song paper"
)


def outside(rng: random.Random, language: Language) -> str:
    """Draws a text that says nothing that can be seen in a scene of this language's world."""
    say = Speaker(rng, lexicon_of(language))
    source = say.weighted((3.0, _CHAT), (3.0, _TOPICS), (4.0, _ABOUT_THE_SCENE), (1.5, _OTHER_LANGUAGES), (1.5, ()))
    text = say.expand(_filled(say, say.rng.choice(source))) if source else _gibberish(say)
    text = with_articles(text)
    return say.pick(text, text, text.lower(), text[:1].upper() + text[1:]) or "?"


def _filled(say: Speaker, text: str) -> str:
    """Fills the slots of a text: "I like the {ONE}" with a kind of item."""
    kind = say.kind(plain=True)
    one, named = (kind.plural if say.chance(share) else kind.singular for share in (0.2, 0.5))
    box = say.pick(say.box, f"{say.pick('left', 'first', 'last', 'whole')} {say.box}")
    return text.format(ONE=one, KIND=named, BOX=box, VALUE=say.property(noun=False).singular, **_SLOTS)


def _gibberish(say: Speaker) -> str:
    """Random letters, neighbouring keys, digits and signs, or unrelated words."""
    how = say.weighted((3, "letters"), (1, "signs"), (1, "words"))
    if how == "words":
        if say.chance(0.5):
            return " ".join(say.rng.sample(_UNRELATED, say.rng.randint(2, 7)))
        made_of = (*say.kind(plain=True).plural.split(), say.box, *_SMALL_WORDS)  # what statements are made of
        return " ".join(say.rng.choices(made_of, k=say.rng.randint(5, 9)))
    if how == "signs":
        return "".join(say.rng.choices(_SIGNS, k=say.rng.randint(1, 10)))
    letters = say.rng.choice(_LETTERS)
    sizes = [say.rng.randint(2, 9) for _ in range(say.rng.randint(1, 6))]
    return " ".join("".join(say.rng.choices(letters, k=size)) for size in sizes)
