"""Makers of names and numbers for the slots of the texts. None of the hosts exists."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from stream_bayes.demo.mailbox.grammar import Maker


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST = _words(
    "Anna Ben Clara David Elena Felix Greta Hannah Igor Julia Karim Laura Martin Nadia Oskar Paula Quentin Rosa Stefan "
    "Tanja Ulrich Vera Walter Xenia Yusuf Zoe Amélie Björn Chloé Dörte Étienne François Jürgen Käthe Léa Noël Renée "
    "Søren Thérèse Zoë James Mary Robert Linda Michael Susan William Karen Richard Nancy Thomas Emily George Alice"
)
LAST = _words(
    "Smith Keller Brown Fischer Martin Weber Dubois Novak Rossi Jensen Müller Schäfer Lefèvre Köhler Núñez Garcia "
    "Miller Wilson Taylor Moore White Harris Clark Lewis Walker Hall Young King Wright Hill Green Baker Adams Nelson "
    "Carter Mitchell Turner Parker Evans Collins Lindqvist Okafor Tanaka Haddad Ivanova Petrov Kowalski Horvath"
)
CITIES = _words(
    "Lisbon Vienna Leeds Toronto Lyon Hamburg Oslo Ghent Turin Graz Dublin Porto Malmö Zürich Köln Boston Kyoto Cork "
    "Nantes Basel Tallinn Bergen Utrecht Krakow Bath Seville Aarhus Lausanne Dresden Quebec"
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAYS_DE = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
FREE_MAIL = ("postbox.example", "freemail.test", "mailhaven.example", "inbox.test")
_SYLLABLES = _words(
    "al an ar bel ben bor cal cor dal den dor el fen fin gal gor han hel in jun kal kor lan lin lor mar mel mon nor "
    "or pal pen per quin ral ren ros san sel sol tal ten tor ul val ver vin wes win yor zan zel"
)
_COMPANY_FORMS = ("Ltd", "GmbH", "Inc", "& Sons", "Group", "SA", "Systems", "Works", "Trading", "Partners")
_AFFIXES = ("shop", "mail", "news", "media", "soft", "trade", "net", "house", "store", "line", "point", "lab")
_ENDS = ("example", "test", "example", "test", "invalid")


class Person(NamedTuple):
    """A person with a mail address."""

    name: str
    address: str

    @property
    def first(self) -> str:
        """The first name."""
        return self.name.partition(" ")[0]


def one_of(*words: str) -> Maker:
    """Return a maker that draws one of these words."""
    return lambda random: words[int(random.random() * len(words))]


def between(low: int, high: int) -> Maker:
    """Return a maker of whole numbers in this range."""
    return lambda random: str(low + int(random.random() * (high - low + 1)))


def amount(random: Random) -> str:
    """Return a price in one of several formats."""
    value = int(random.random() ** 3 * 2000) + 5
    cents = int(random.random() * 100)
    written = (
        f"${value}.{cents:02}",
        f"EUR {value},{cents:02}",
        f"€{value}",
        f"{value}.{cents:02} USD",
        f"{value} EUR",
    )
    return written[int(random.random() * len(written))]


def large_amount(random: Random) -> str:
    """Return a large amount of money, as in fraud."""
    value = int(random.random() * 90 + 5)
    written = (
        f"${value},500,000",
        f"USD {value}.5 million",
        f"EUR {value}0,000",
        f"{value} Million Dollars",
        f"${value},000",
    )
    return written[int(random.random() * len(written))]


def code(random: Random) -> str:
    """Return the number of an order, a build or a file."""
    value = random.getrandbits(40)
    return f"{value % 10**7}" if value & 1 else f"{value:010X}"[: 5 + value % 5]


def word(random: Random) -> str:
    """Return a made-up word."""
    count = 2 + (random.random() < 0.3)
    return "".join([_SYLLABLES[int(random.random() * len(_SYLLABLES))] for _ in range(count)])


def company(random: Random) -> str:
    """Return the name of a company."""
    return f"{word(random).title()} {_COMPANY_FORMS[int(random.random() * len(_COMPANY_FORMS))]}"


def domain(random: Random) -> str:
    """Return a host in a reserved top-level domain."""
    affix = _AFFIXES[int(random.random() * len(_AFFIXES))] if random.random() < 0.5 else ""
    dash = "-" if affix and random.random() < 0.4 else ""
    return f"{word(random)}{dash}{affix}.{_ENDS[int(random.random() * len(_ENDS))]}"


def person(random: Random, host: str | None = None) -> Person:
    """Return a person with an address at this host, or at a free mail provider."""
    first, last = (names[int(random.random() * len(names))] for names in (FIRST, LAST))
    place = host or FREE_MAIL[int(random.random() * len(FREE_MAIL))]
    plain = "".join(letter for letter in f"{first}.{last}".lower() if letter.isascii())
    number = f"{int(random.random() * 99)}" if host is None and random.random() < 0.5 else ""
    return Person(f"{first} {last}", f"{plain}{number}@{place}")


MAKERS: dict[str, Maker] = {
    "amount": amount,
    "amount_large": large_amount,
    "city": one_of(*CITIES),
    "clock": lambda random: f"{8 + int(random.random() * 12)}:{(0, 15, 30, 45)[int(random.random() * 4)]:02}",
    "code": code,
    "colleague": one_of(*FIRST),
    "colleague2": one_of(*FIRST),
    "company": company,
    "customer": company,
    "brand": lambda random: word(random).title(),
    "day": one_of(*DAYS),
    "day_de": one_of(*DAYS_DE),
    "digit": between(2, 9),
    "first": one_of(*FIRST),
    "host": domain,
    "me": one_of(*FIRST),
    "me_full": lambda random: person(random).name,
    "month": one_of(*MONTHS),
    "number": between(2, 90),
    "ordinal": one_of("first", "second", "third"),
    "percent": lambda random: (
        f"{5 * (1 + int(random.random() * 19))}{('%', ' %', ' percent')[int(random.random() * 3)]}"
    ),
    "phone": lambda random: (
        f"+{10 + int(random.random() * 80)} {int(random.random() * 900 + 100)} {int(random.random() * 9e5)}"
    ),
    "videohost": one_of("clips.example", "tube.test", "funny.example"),
}
