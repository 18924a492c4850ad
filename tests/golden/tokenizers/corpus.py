"""Two thousand lines that are hard on tokenizers, from a seed: the same on every machine.

Plain sentences, and what files with text really hold: runs of white space of every kind, inner line ends and tabs, sentinels,
emoji with joiners and flags, combining marks, scripts without spaces, right-to-left text, symbols no vocabulary has, and the
compatibility characters NFKC rewrites.
"""

import random

COUNT = 2000
SEED = 20181

WORDS = (
    "the a of two man woman dog child street in red coat walks runs over bridge with small boat water mountain and or not "
    "translate English to German summarize question answer house blue green people play music near old young bicycle train "
    "relation distance attention matrix value key query encoder decoder token piece unbelievable internationalization"
).split()
GERMAN = "der die das Straße Mädchen läuft über Brücke Häuser größer schön Fußgänger weiß fünf Bär Äpfel Öl Übung".split()
FRENCH = "été garçon où naïve cœur l'eau aujourd'hui façade Noël œuvre à peine".split()
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", "\u00a0", "\u2003", "\u2009", "\u3000", "\u2028", "\u0085", "\v", "\f", " \t ", "\u200b", "\u202f", "\u1680"]
MARKS = ["\u0301", "\u0308", "\u0327", "\u0323", "\u20e3", "\u0302\u0301", "\u0345", "\u05b0", "\u064b", "\u0651"]
COMPATIBILITY = list("ＡＢｃ１２！？～＠｡｢ｶﾞﾊﾟ½¼⅓㎏㎡㍿①⑳Ⅷⅻﬁﬂﬃﬅ²³¹⁴₂ªº…‥™℠ℌℕΩKÅſ㈱㋿ﷺﷲ")
INVISIBLE = ["\u00ad", "\u200b", "\u200c", "\u200d", "\ufeff", "\u2060", "\u200e", "\u202a", "\u0000", "\u0007", "\u007f", "\u001f", "\u0090", "\ufffd", "\ufffc", "\ue000", "\u180e", "\u061c"]
EMOJI = ["😀", "🎉", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "🇯🇵🇫🇷", "❤️", "☕", "1️⃣", "🧑🏿‍🚀", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "✊🏻", "™️", "©", "🇦"]
CJK = list("日本語中文字漢字語学校人山川水火木金土的是不了我有这個国機械翻譯") + list("ひらがなカタカナのをにがーっャ") + ["か\u3099", "は\u309a"]
KOREAN = ["한국어", "안녕하세요", "각", "ᄒ\u1161\u11ab", "ᄀ\u1161", "ㄱㄴ", "가\u11a8"]
ARABIC = ["العربية", "مَرْحَبًا", "ﻻ", "لا", "١٢٣", "ﷲ", "اللّٰه", "ـــ", "פּ", "שָׁלוֹם", "\u0600١٢", "\u06dd٣"]
BRAHMIC = ["ภาษาไทย", "ทำน้ำ", "กำ", "हिन्दी", "क्षत्रिय", "நி", "বাংলা", "ລຳ", "ក្មែរ"]
SYMBOLS = list("∀∃∮⊗⇒♜♫☃§¶†‡※〒€£¥₿¤¬|~^`@#$%&*(){}[]<>/\\") + ["𝔘𝔫", "𝟘𝟙", "𓀀", "𐍈", "🜁", "ꙮ", "᚛", "ᏣᎳᎩ", "ⴰ", "߷", "𠜎", "\U0010fffd"]
ACCENTS = ["e\u0301", "a\u0308", "n\u0303", "o\u0328\u0304", "A\u030a", "ｅ\u0301", "ﬁ\u0301", "½\u0301", " \u0301", "\u0301", "i\u0307\u0323", "q\u0323\u0307", "s\u0323\u0307", "é\u0301", "\u1e69", "#\u20e3", "x\ufe0f", "a\u200d", "é\u200d", "a\u0e33", "é\u0903", "a\U0001f3fb", "①\u0301", "²\u0308", "\u00a0\u0301", "\u0344", "\r\n\u0301", "Å\u0323", "K\u0301"]
SENTINELS = [f"<extra_id_{i}>" for i in (0, 1, 2, 9, 10, 50, 98, 99, 100)] + ["</s>", "<pad>", "<unk>", "<s>", "<extra_id_", "<0x41>", "<EXTRA_ID_0>", "< extra_id_0>", "<mask>", "[word]", "[left]", "[right]", "naïve token", "▁", "▁▁", "▁the", "Ġthe"]


def sentence(random, words=WORDS, low=2, high=12):
    return " ".join(random.choice(words) for _ in range(random.randint(low, high)))


def mixed(random, *pools):
    parts = []
    for _ in range(random.randint(1, 9)):
        parts.append(random.choice(random.choice(pools)))
        parts.append(random.choice([" ", " ", "", "", random.choice(SPACES)]))
    return "".join(parts)


def joined(random, pool, low=1, high=10):
    return "".join(random.choice(pool) for _ in range(random.randint(low, high)))


def any_character(random):
    while True:
        code = random.choice([random.randrange(0x20, 0x250), random.randrange(0x300, 0x3000), random.randrange(0x3000, 0x10000), random.randrange(0x10000, 0x20000)])
        if not 0xD800 <= code < 0xE000:
            return chr(code)


KINDS = [
    lambda r: sentence(r).capitalize() + r.choice(".!?,;:"),
    lambda r: sentence(r, GERMAN + WORDS) + ".",
    lambda r: sentence(r, FRENCH + WORDS),
    lambda r: mixed(r, WORDS, SPACES),
    lambda r: r.choice(SPACES) + sentence(r, high=4) + joined(r, SPACES, 1, 4),
    lambda r: mixed(r, WORDS, SENTINELS),
    lambda r: mixed(r, SENTINELS, SPACES, WORDS),
    lambda r: mixed(r, SENTINELS, MARKS, CJK, WORDS),
    lambda r: mixed(r, WORDS, EMOJI),
    lambda r: joined(r, EMOJI, 1, 6),
    lambda r: mixed(r, WORDS, ACCENTS),
    lambda r: joined(r, ACCENTS + MARKS + ["a", "é", "k"]),
    lambda r: mixed(r, WORDS, COMPATIBILITY),
    lambda r: joined(r, COMPATIBILITY),
    lambda r: joined(r, CJK, 2, 14),
    lambda r: mixed(r, CJK, WORDS, COMPATIBILITY),
    lambda r: mixed(r, KOREAN, WORDS),
    lambda r: mixed(r, ARABIC, WORDS),
    lambda r: mixed(r, BRAHMIC, WORDS),
    lambda r: mixed(r, SYMBOLS, WORDS),
    lambda r: joined(r, SYMBOLS, 1, 6),
    lambda r: mixed(r, INVISIBLE, WORDS, MARKS),
    lambda r: "".join(any_character(r) for _ in range(r.randint(1, 12))),
    lambda r: "".join(any_character(r) + r.choice(["", " ", r.choice(MARKS), "\u200d"]) for _ in range(r.randint(1, 8))),
    lambda r: f"{r.randrange(10**r.randint(1, 9))}{r.choice([',', '.', ' ', '%', '€', '-'])}{r.randrange(1000)} {r.choice(WORDS)}'s {r.choice(WORDS)}'ll DON'T",
    lambda r: "".join(r.choice(WORDS).capitalize() for _ in range(r.randint(1, 4))) + r.choice(["()", "_x", "==1", "->y;", "\t}"]),
]


def lines():
    source = random.Random(SEED)
    result = ["", " ", "   ", "\n", "\t \n", "a", "test", "▁", "</s>", "<extra_id_0>", "é", "日", "😀", "\u0301", "\u00a0", "a</s>", "a </s>  b", "\ufeffa"]
    result += ["a" * 600, " " * 300, "ab " * 300, "日本" * 200, "😀" * 150, "e\u0301" * 200, "\u0e01\u0e33" * 120, "unbelievable" * 40]
    result.append(" ".join(sentence(source) for _ in range(40)))
    while len(result) < COUNT:
        result.append(source.choice(KINDS)(source))
    return result


def training_text():
    """Lines to train small vocabularies on: the same kinds from another seed, with no line ends inside."""
    source = random.Random(SEED + 1)
    texts = []
    for _ in range(6000):
        kind = source.choice(KINDS[:5] + KINDS[:3] * 2 + [KINDS[i] for i in (10, 12, 14, 15, 16, 17, 18, 24, 25)])
        texts.append(" ".join(kind(source).split()).replace("\0", ""))
    return [text for text in texts if text]
