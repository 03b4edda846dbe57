"""The names under which Windows shows its time zones to people, as Exchange writes them into TZID.

They are `(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna`, or without the part in
parentheses, which has been spelled in several ways and does not tell summer from winter.
"""

from __future__ import annotations

import re
from typing import Final

_OFFSET: Final = re.compile(r"\((?:UTC|GMT)[^)]*\)\s*", re.IGNORECASE)
_TIME: Final = " Standard Time"

# A line for each of Windows's zones, without "Standard Time", and what it has been shown as.
_SHOWN: Final = """
Dateline: International Date Line West
Aleutian: Aleutian Islands
Hawaiian: Hawaii
Marquesas: Marquesas Islands
Alaskan: Alaska
Pacific: Pacific Time (US & Canada) | Pacific Time (US and Canada)
Pacific (Mexico): Baja California | Tijuana, Baja California
US Mountain: Arizona
Mountain (Mexico): Chihuahua, La Paz, Mazatlan | La Paz, Mazatlan
Mountain: Mountain Time (US & Canada) | Mountain Time (US and Canada)
Yukon: Yukon
Central America: Central America
Central: Central Time (US & Canada) | Central Time (US and Canada)
Easter Island: Easter Island
Central (Mexico): Guadalajara, Mexico City, Monterrey
Canada Central: Saskatchewan
SA Pacific: Bogota, Lima, Quito, Rio Branco | Bogota, Lima, Quito
Eastern (Mexico): Chetumal
Eastern: Eastern Time (US & Canada) | Eastern Time (US and Canada)
Haiti: Haiti
Cuba: Havana
US Eastern: Indiana (East)
Turks And Caicos: Turks and Caicos
Paraguay: Asuncion
Atlantic: Atlantic Time (Canada)
Venezuela: Caracas
Central Brazilian: Cuiaba | Manaus
SA Western: Georgetown, La Paz, Manaus, San Juan | La Paz
Pacific SA: Santiago
Newfoundland: Newfoundland
Tocantins: Araguaina
E. South America: Brasilia
SA Eastern: Cayenne, Fortaleza
Argentina: City of Buenos Aires | Buenos Aires
Greenland: Greenland
Montevideo: Montevideo
Magallanes: Punta Arenas
Saint Pierre: Saint Pierre and Miquelon
Bahia: Salvador
Azores: Azores
Cape Verde: Cabo Verde Is. | Cape Verde Is.
GMT: Dublin, Edinburgh, Lisbon, London | Greenwich Mean Time : Dublin, Edinburgh, Lisbon, London
Greenwich: Monrovia, Reykjavik
Sao Tome: Sao Tome
Morocco: Casablanca
W. Europe: Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna
Central Europe: Belgrade, Bratislava, Budapest, Ljubljana, Prague
Romance: Brussels, Copenhagen, Madrid, Paris
Central European: Sarajevo, Skopje, Warsaw, Zagreb
W. Central Africa: West Central Africa
GTB: Athens, Bucharest | Athens, Bucharest, Istanbul
Middle East: Beirut
Egypt: Cairo
E. Europe: Chisinau | E. Europe
Syria: Damascus
West Bank: Gaza, Hebron
South Africa: Harare, Pretoria
FLE: Helsinki, Kyiv, Riga, Sofia, Tallinn, Vilnius | Helsinki, Kiev, Riga, Sofia, Tallinn, Vilnius
Israel: Jerusalem
South Sudan: Juba
Kaliningrad: Kaliningrad
Sudan: Khartoum
Libya: Tripoli
Namibia: Windhoek
Jordan: Amman
Arabic: Baghdad
Turkey: Istanbul
Arab: Kuwait, Riyadh
Belarus: Minsk
Russian: Moscow, St. Petersburg | Moscow, St. Petersburg, Volgograd
E. Africa: Nairobi
Volgograd: Volgograd
Iran: Tehran
Arabian: Abu Dhabi, Muscat
Astrakhan: Astrakhan, Ulyanovsk
Azerbaijan: Baku
Russia Time Zone 3: Izhevsk, Samara
Mauritius: Port Louis
Saratov: Saratov
Georgian: Tbilisi
Caucasus: Yerevan
Afghanistan: Kabul
West Asia: Ashgabat, Tashkent
Ekaterinburg: Ekaterinburg
Pakistan: Islamabad, Karachi
India: Chennai, Kolkata, Mumbai, New Delhi
Sri Lanka: Sri Jayawardenepura
Nepal: Kathmandu
Central Asia: Astana
Bangladesh: Dhaka
Omsk: Omsk
Myanmar: Yangon (Rangoon)
SE Asia: Bangkok, Hanoi, Jakarta
Altai: Barnaul, Gorno-Altaysk
W. Mongolia: Hovd
North Asia: Krasnoyarsk
N. Central Asia: Novosibirsk
Tomsk: Tomsk
China: Beijing, Chongqing, Hong Kong, Urumqi | Beijing, Chongqing, Hong Kong SAR, Urumqi
North Asia East: Irkutsk
Singapore: Kuala Lumpur, Singapore
W. Australia: Perth
Taipei: Taipei
Ulaanbaatar: Ulaanbaatar
Aus Central W.: Eucla
Transbaikal: Chita
Tokyo: Osaka, Sapporo, Tokyo
North Korea: Pyongyang
Korea: Seoul
Yakutsk: Yakutsk
Cen. Australia: Adelaide
AUS Central: Darwin
E. Australia: Brisbane
AUS Eastern: Canberra, Melbourne, Sydney
West Pacific: Guam, Port Moresby
Tasmania: Hobart
Vladivostok: Vladivostok
Lord Howe: Lord Howe Island
Bougainville: Bougainville Island
Russia Time Zone 10: Chokurdakh
Magadan: Magadan
Norfolk: Norfolk Island
Sakhalin: Sakhalin
Central Pacific: Solomon Is., New Caledonia
Russia Time Zone 11: Anadyr, Petropavlovsk-Kamchatsky
New Zealand: Auckland, Wellington
Fiji: Fiji
Chatham Islands: Chatham Islands
Tonga: Nuku'alofa
Samoa: Samoa
Line Islands: Kiritimati Island
"""

_FIXED: Final = ("UTC", "UTC-11", "UTC-09", "UTC-08", "UTC-02", "UTC+12", "UTC+13")


def windows_name(display_name: str) -> str | None:
    """Return Windows's own name of the zone that it shows under a name; None if it shows none."""
    return _WINDOWS.get(_OFFSET.sub("", display_name, count=1).strip().casefold())


def _read_table() -> dict[str, str]:
    names = {f"coordinated universal time{zone[3:]}": zone for zone in _FIXED}
    for line in _SHOWN.strip().splitlines():
        zone, _, display_name = line.partition(": ")
        begin, space, region = zone.partition(" (")
        name = f"{begin}{_TIME}{space}{region}"
        if zone.startswith("Russia Time Zone"):
            name = zone
        names |= {text.strip().casefold(): name for text in display_name.split(" | ")}
    return names


_WINDOWS: Final = _read_table()
