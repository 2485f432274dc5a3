"""Words on buttons and menu items that make a press more than a change.

They only raise: a word that is missing here leaves a call at MODIFY, and no word lowers one.
Names of elements are in the language of the system, so the commonest words of some languages stand
here. A word counts where it stands as a word; languages written without spaces, anywhere.
"""

import re
import unicodedata
from typing import Final

__all__ = ["danger_word"]

_WORDS: Final = {
    "destroys": (
        "delete remove erase trash discard purge wipe destroy clear empty format reset revert"
        " overwrite replace uninstall unsubscribe forget shred truncate eject unpair"
        " löschen loeschen entfernen verwerfen leeren ersetzen zurücksetzen formatieren"
        " deinstallieren supprimer effacer vider remplacer réinitialiser désinstaller eliminar"
        " borrar quitar vaciar descartar reemplazar restablecer desinstalar elimina cancella svuota"
        " sostituisci excluir apagar remover esvaziar substituir verwijderen wissen vervangen"
        " slett slet radera usuń удалить очистить стереть"
    ),
    "sends": (
        "send post publish submit share tweet reply forward broadcast upload invite call"
        " dial resend transmit commit push release deploy"
        " senden absenden teilen veröffentlichen weiterleiten hochladen antworten anrufen"
        " envoyer publier partager transférer répondre soumettre appeler enviar publicar compartir"
        " reenviar responder llamar invia pubblica condividi inoltra rispondi chiama compartilhar"
        " encaminhar verzenden versturen delen skicka wyślij отправить опубликовать поделиться"
    ),
    "spends money": (
        "buy purchase pay order checkout donate subscribe bid kaufen bezahlen bestellen"
        " zahlungspflichtig acheter payer commander comprar pagar acquista paga kopen betalen"
        " купить оплатить"
    ),
    "grants or gives up rights": (
        "allow authorize authorise grant approve trust permit accept agree unlock enable install"
        " sign login authenticate erlauben zulassen genehmigen akzeptieren zustimmen"
        " installieren autoriser accepter permitir autorizar aceptar instalar consenti autorizza"
        " accetta installa toestaan разрешить установить"
    ),
    "runs something": "run execute evaluate ausführen exécuter ejecutar",
    "ends a session or loses work": (
        "quit restart shutdown logout reboot terminate kill abort beenden neustart neustarten"
        " ausschalten abmelden quitter redémarrer éteindre salir reiniciar apagar esci riavvia"
        " sair afsluiten выйти перезагрузить"
    ),
}
_PHRASES: Final = {
    "don t save": "loses work",
    "do not save": "loses work",
    "don t keep": "loses work",
    "without saving": "loses work",
    "nicht speichern": "loses work",
    "ne pas enregistrer": "loses work",
    "no guardar": "loses work",
    "shut down": "ends a session or loses work",
    "log out": "ends a session or loses work",
    "sign out": "ends a session or loses work",
    "force quit": "ends a session or loses work",
    "start over": "destroys",
    "place order": "spends money",
    "go live": "sends",
}
_UNSPACED: Final = {
    "削除": "destroys",
    "消去": "destroys",
    "删除": "destroys",
    "刪除": "destroys",
    "삭제": "destroys",
    "送信": "sends",
    "发送": "sends",
    "傳送": "sends",
    "보내기": "sends",
    "購入": "spends money",
    "购买": "spends money",
    "支付": "spends money",
    "구매": "spends money",
    "許可": "grants or gives up rights",
    "允许": "grants or gives up rights",
    "허용": "grants or gives up rights",
    "終了": "ends a session or loses work",
    "退出": "ends a session or loses work",
    "종료": "ends a session or loses work",
}

_MEANING: Final = {word: what for what, words in _WORDS.items() for word in words.split()}
_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def danger_word(text: str) -> tuple[str, str] | None:
    """Return the first word of the table in `text` and what it means, or None."""
    # Letters of other shapes (full width, styled) spell the same word to a reader.
    plain = unicodedata.normalize("NFKC", text)
    words = [word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", plain))]
    for word in words:
        if word in _MEANING:
            return word, _MEANING[word]
    joined = f" {' '.join(words)} "
    for phrase, what in _PHRASES.items():
        if f" {phrase} " in joined:
            return phrase, what
    for phrase, what in _UNSPACED.items():
        if phrase in plain:
            return phrase, what
    return None
