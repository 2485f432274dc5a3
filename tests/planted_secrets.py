"""Secrets to plant: each kind in a text as people and programs write it, drawn anew by a seed.

No secret stands in this file: `<A:n>` draws n characters of an alphabet, and what is between `⟦`
and `⟧` is the secret. Forms are as their issuers document them.
"""

import random
import re
import string
from typing import Final, NamedTuple

_ALPHABETS: Final = {
    "a": string.ascii_lowercase,
    "A": string.ascii_uppercase,
    "d": string.digits,
    "h": "0123456789abcdef",
    "w": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "u": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "B": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "c": "023456789ACDEFGHJKLMNPQRSTUVWXYZ",
}
_PHRASE: Final = (
    "witch collapse practice feed shame open despair creek road again ice least forest cabbage"
    " velvet orbit tunnel slender gadget magnet ripple lecture silver pumpkin"
).split()

FORMS: Final[dict[str, str]] = {
    # Keys that tell by themselves whose they are.
    "AGE key": "the backup key is ⟦AGE-SECRET-KEY-1<c:58>⟧ for now",
    "AGE plugin key": "⟦AGE-PLUGIN-YUBIKEY-1<c:40>⟧",
    "Twilio key": "use ⟦SK<h:32>⟧ there",
    "Twilio token": "AC<h:32> with auth token ⟦<h:32>⟧",
    "AWS key id": "id ⟦AKIA<B:16>⟧",
    "AWS session key id": "id ⟦ASIA<B:16>⟧",
    "AWS secret": "aws_secret_access_key = ⟦<b:40>⟧",
    "GitHub": "push with ⟦ghp_<w:36>⟧",
    "GitHub app": "push with ⟦ghs_<w:36>⟧",
    "GitHub fine": "⟦github_pat_<w:22>_<w:59>⟧",
    "GitLab": "⟦glpat-<u:20>⟧",
    "GitLab runner": "⟦glrt-<u:20>⟧",
    "GitLab deploy": "⟦gldt-<u:20>⟧",
    "Google key": "maps key ⟦AIza<u:35>⟧",
    "Google OAuth": "⟦ya29.<u:60>⟧",
    "Google client secret": "⟦GOCSPX-<u:28>⟧",
    "Google refresh": "⟦1//0<w:1><u:60>⟧",
    "Stripe": "⟦sk_live_<w:24>⟧",
    "Stripe restricted": "⟦rk_live_<w:24>⟧",
    "Stripe webhook": "⟦whsec_<w:32>⟧",
    "OpenAI": "⟦sk-proj-<u:48>⟧",
    "OpenAI old": "⟦sk-<w:48>⟧",
    "Anthropic": "⟦sk-ant-api03-<u:80>⟧",
    "npm": "⟦npm_<w:36>⟧",
    "PyPI": "⟦pypi-AgEIcHlwaS5vcmc<u:60>⟧",
    "RubyGems": "⟦rubygems_<h:48>⟧",
    "SendGrid": "⟦SG.<u:22>.<u:43>⟧",
    "Mailgun": "⟦key-<h:32>⟧",
    "Mailchimp": "⟦<h:32>-us12⟧",
    "Telegram": "bot ⟦<d:10>:AA<u:33>⟧ runs",
    "Discord bot": "⟦M<w:25>.<u:6>.<u:38>⟧",
    "Slack token": "⟦xoxb-<d:12>-<d:12>-<w:24>⟧",
    "Slack app": "⟦xapp-1-A<U:9>-<d:12>-<h:40>⟧",
    "Hugging Face": "⟦hf_<w:34>⟧",
    "Databricks": "⟦dapi<h:32>⟧",
    "DigitalOcean": "⟦dop_v1_<h:64>⟧",
    "Docker": "⟦dckr_pat_<u:27>⟧",
    "Shopify": "⟦shpat_<h:32>⟧",
    "Square": "⟦sq0atp-<u:22>⟧",
    "Linear": "⟦lin_api_<w:40>⟧",
    "Notion": "⟦ntn_<w:46>⟧",
    "Figma": "⟦figd_<u:40>⟧",
    "Postman": "⟦PMAK-<h:24>-<h:34>⟧",
    "New Relic": "⟦NRAK-<U:27>⟧",
    "Grafana": "⟦glsa_<w:32>_<h:8>⟧",
    "Vault": "⟦hvs.<u:90>⟧",
    "Atlassian": "⟦ATATT3<u:180>⟧",
    "Airtable": "⟦pat<w:14>.<h:64>⟧",
    "Tailscale": "⟦tskey-auth-<w:17>-<w:32>⟧",
    "Groq": "⟦gsk_<w:52>⟧",
    "Replicate": "⟦r8_<w:37>⟧",
    "Facebook": "⟦EAAC<w:120>⟧",
    "1Password": "⟦A3-<U:6>-<U:6>-<U:5>-<U:5>-<U:5>-<U:5>⟧",
    "Safari password": "it is ⟦<a:5><d:1>-<a:6>-<A:1><a:5>⟧",
    "Apple app password": "it is ⟦<a:4>-<a:4>-<a:4>-<a:4>⟧",
    "Azure client": "⟦<w:3>8Q~<u:34>⟧",
    "JWT": "⟦eyJ<u:20>.eyJ<u:60>.<u:43>⟧",
    "SSH key": "⟦-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn<b:60>\n<b:70>\n"
    "-----END OPENSSH PRIVATE KEY-----⟧",
    "PGP key": "⟦-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n<b:64>\n"
    "-----END PGP PRIVATE KEY BLOCK-----⟧",
    "hex key": "⟦<h:64>⟧",
    "WIF key": "⟦5K<w:49>⟧",
    "WireGuard": "PrivateKey = ⟦<b:43>=⟧",
    # Addresses.
    "URL password": "see https://anna:⟦<w:9>⟧@files.example.org/a",
    "URL password with signs": "see ftp://anna:⟦<w:4>!p%40<w:3>⟧@files.example.org/a",
    "database URL": "postgres://app:⟦<w:14>⟧@db.example.org:5432/main",
    "URL password, encoded": "go https%3A%2F%2Fanna%3A⟦<w:9>⟧%40files.example.org",
    "query token": "https://a.example/x?access_token=⟦<w:20>⟧&y=1",
    "query token, encoded": "https://b.example/?u=https%3A%2F%2Fa.example%2F%3Ftoken%3D⟦<w:20>⟧%26y",
    "Azure SAS": "https://x.blob.core.windows.net/c?sv=2024&sp=r&sig=⟦<w:43>%3D⟧",
    "Azure storage": "AccountName=x;AccountKey=⟦<b:86>==⟧;EndpointSuffix=core.windows.net",
    "magic link": "https://app.example/login/magic?t=1&key=⟦<w:32>⟧",
    "reset link": "https://app.example/reset-password/⟦<w:32>⟧",
    "Slack webhook": "https://hooks.slack.com/services/⟦T<U:8>/B<U:8>/<w:24>⟧",
    "Discord webhook": "https://discord.com/api/webhooks/⟦<d:18>/<u:68>⟧",
    "Teams webhook": "https://x.webhook.office.com/webhookb2/⟦<h:8>-<h:4>-<h:4>-<h:4>-<h:12>@<h:8>-<h:4>-<h:4>-<h:4>-<h:12>/IncomingWebhook/<h:32>/<h:8>-<h:4>-<h:4>-<h:4>-<h:12>⟧",
    "Power Automate": "https://prod-1.westus.logic.azure.com/workflows/<h:32>/triggers/manual/paths/invoke?sp=1&sig=⟦<u:43>⟧",
    "Zapier webhook": "https://hooks.zapier.com/hooks/catch/⟦<d:7>/<l:7>⟧/",
    "Make webhook": "https://hook.eu1.make.com/⟦<l:32>⟧",
    "IFTTT webhook": "https://maker.ifttt.com/trigger/on/with/key/⟦<u:20><d:2>⟧",
    "own webhook": "https://n8n.example.org/webhook/⟦<h:8>-<h:4>-<h:4>-<h:4>-<h:12>⟧",
    "Mattermost": "https://chat.example.org/hooks/⟦<l:26>⟧",
    "Google Chat": "https://chat.googleapis.com/v1/spaces/AAA/messages?key=AIza<u:35>&token=⟦<u:43>⟧",
    "otpauth": "otpauth://totp/ACME:anna?secret=⟦<B:32>⟧&issuer=ACME",
    # Headers, cookies.
    "bearer": "Authorization: Bearer ⟦<u:30>⟧",
    "bearer in words": "send bearer ⟦<w:24>⟧ along",
    "basic": "Authorization: Basic ⟦<w:22>==⟧",
    "cookie": "Cookie: ⟦sid=<w:20>; theme=dark⟧",
    "session cookie": "PHPSESSID=⟦<l:26>⟧",
    "API key header": "X-API-Key: ⟦<w:12>⟧",
    # Beside a label.
    "password": "password: ⟦<w:10>⟧",
    "password is": "the wifi password is ⟦<w:5>4!<w:3>⟧",
    "password, next line": "Password:\n⟦<w:10>⟧",
    "password, quoted": 'password "⟦<a:8> <a:5>⟧"',
    "password, cell": "Password\t⟦<w:9><d:1>⟧",
    "password, dash": "Password - ⟦<w:9><d:1>⟧",
    "passphrase": "passphrase: ⟦correct <a:5> battery staple⟧",
    "pin": "PIN: ⟦<d:4>⟧",
    "card": "card ⟦4111 1111 1111 1111⟧",
    "card code": "CVV: ⟦<d:3>⟧",
    "one-time code": "Your verification code is ⟦<d:6>⟧.",
    "one-time code first": "⟦<d:6>⟧ is your Example verification code.",
    "one-time code, G": "⟦G-<d:6>⟧ is your Google verification code",
    "one-time code, colon": "Your one-time code: ⟦<d:3> <d:3>⟧",
    "OTP": "OTP for login is ⟦<d:6>⟧",
    "2FA": "2FA code: ⟦<d:6>⟧",
    "TOTP secret": "TOTP: ⟦<B:16>⟧",
    "TOTP groups": "setup key: ⟦<B:4> <B:4> <B:4> <B:4>⟧",
    "TOTP lower groups": "Authenticator secret: ⟦jbsw y3dp ehpk 3pxp⟧",
    "backup codes": "Backup codes: ⟦<d:4>-<d:4> <d:4>-<d:4> <d:4>-<d:4>⟧",
    "recovery code": "recovery code: ⟦<l:5>-<l:5>⟧",
    "recovery phrase": "seed phrase: ⟦" + " ".join(_PHRASE[:12]) + "⟧",
    "recovery phrase, bare": "⟦" + " ".join(_PHRASE) + "⟧",
    "recovery phrase, rows": "Recovery phrase:\n⟦"
    + "\n".join(f"{at}. {word}" for at, word in enumerate(_PHRASE[:12], 1)) + "⟧",
    "FileVault key": "recovery key: ⟦<U:4>-<U:4>-<U:4>-<U:4>-<U:4>-<U:4>⟧",
    "licence": "license key: ⟦<U:5>-<U:5>-<U:5>⟧",
    "IBAN": "to ⟦DE89 3704 0044 0532 0130 00⟧",
    "environment": "export DB_PASS=⟦<w:9>⟧",
    "command line": "mysql -u me -p⟦<w:9>⟧ db",
    "YAML": "db:\n  password: ⟦<w:9>⟧\n",
    "JSON": '{"client_secret": "⟦<w:20>⟧"}',
    "XML": "<password>⟦<w:9>⟧</password>",
    "plist": "<key>Password</key>\n\t<string>⟦<w:9>⟧</string>",
    "netrc": "machine h.example login anna password ⟦<w:8><d:1>⟧",
    "AppleScript": 'set password of account 1 to "⟦<w:9>⟧"',
    "comment": "-- the password is ⟦<w:5>7?<w:3>⟧",
    "user/password": "login: anna / password: ⟦<w:9>⟧",
}  # fmt: skip

LABELS: Final = (
    "Passwort|Kennwort|WLAN-Passwort|Geheimzahl|mot de passe|code secret|contraseña|clave de acceso"
    "|password|parola d'ordine|senha|palavra-passe|wachtwoord|toegangscode|lösenord|adgangskode"
    "|kodeord|passord|salasana|tunnusluku|hasło|heslo|jelszó|şifre|parola|пароль|код доступа"
    "|κωδικός πρόσβασης|συνθηματικό|パスワード|暗証番号|密码|密碼|口令|암호|비밀번호|parolă|lozinka"
    "|geslo|סיסמה|كلمة المرور|पासवर्ड|รหัสผ่าน|mật khẩu|kata sandi|contrasenya|парола"
    "|Sicherheitscode|Bestätigungscode|code de vérification|código de verificación"
    "|codice di verifica|código de segurança|verificatiecode|确认码|验证码|認証コード"
    "|確認コード|인증번호"
    "|API-Schlüssel|clé API|clave API|chiave API|Zugangscode|код подтверждения|kod weryfikacyjny"
).split("|")
"""What people write before a secret, in the languages of macOS."""


class Planted(NamedTuple):
    """A secret of a kind, and the text that it stands in."""

    kind: str
    secret: str
    text: str

    def seen_in(self, text: str) -> bool:
        """Say whether the secret, or a part of it that is long enough to tell, is in a text."""
        words = re.split(r"[\s.:/@]+", self.secret)
        parts = (word for word in words if len(word) >= 8 and not word.isalpha())
        return any(part in text for part in (self.secret, *parts))


def planted_secrets(seed: int = 1) -> list[Planted]:
    """Return a secret of each kind, and one beside each label, as a seed draws them."""
    rng = random.Random(seed)

    def draw(match: re.Match[str]) -> str:
        return "".join(rng.choices(_ALPHABETS[match[1]], k=int(match[2])))

    signs = (": ", " : ", "：", " = ", ":\n")
    labels = {f"label {label}": f"{label}{rng.choice(signs)}⟦<a:4><d:4><A:2>⟧" for label in LABELS}
    found = []
    for kind, form in (FORMS | labels).items():
        text = re.sub(r"<(\w):(\d+)>", draw, form)
        secret = text.partition("⟦")[2].partition("⟧")[0]
        found.append(Planted(kind, secret, text.replace("⟦", "").replace("⟧", "")))
    return found
