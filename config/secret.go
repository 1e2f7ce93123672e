package config

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
)

const masked = "***"

// Secret is a text that fmt, log/slog and encoding/json do not show.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String shows only whether the secret is set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString implements fmt.GoStringer, for %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// maskText removes what looks like a credential from a text, including from URLs.
func maskText(s string) string { return coordination.Mask(maskURLs(s)) }

// Shown is a setting's text in a form that may be shown.
func Shown(s string) string { return maskText(s) }

// markSecrets marks every value below v that must not be shown. inside means that v is below a key that names secrets.
func markSecrets(v *value, inside bool) {
	switch v.kind {
	case text:
		v.secret = (v.secret || inside) && !v.unset
	case number:
		v.secret = inside
	case list:
		for _, item := range v.items {
			markSecrets(item, inside)
		}
	case object:
		for _, m := range v.members {
			markSecret(m.key, m.value, inside)
		}
		markWebhook(v)
	}
}

// markWebhook marks a webhook sink's URL, since knowing it allows posting, including values of repeated keys.
func markWebhook(v *value) {
	is := false
	v.eachOf("id", func(id *value) { is = is || id.kind == text && id.text == SinkOfWebhook })
	if !is {
		return
	}
	v.eachOf("options", func(options *value) {
		options.eachOf("url", func(address *value) { markSecrets(address, true) })
	})
}

// eachOf visits the values at a key of an object, including overwritten ones.
func (v *value) eachOf(key string, visit func(*value)) {
	if v.kind != object {
		return
	}
	for _, e := range v.entries {
		if e.key == key {
			visit(e.value)
		}
	}
	if m := v.index[key]; m != nil {
		visit(m.value)
	}
}

func markSecret(key string, v *value, inside bool) {
	if v.kind == number {
		v.secret = (inside || namesSecret(key)) && !namesAmount(key)
		return
	}
	markSecrets(v, inside || namesSecret(key) || holdsSecrets(key))
}

// holdsSecrets reports whether all members of this object are secrets: variables and HTTP headers often are.
func holdsSecrets(key string) bool { return slices.Contains([]string{"env", "vars", "headers"}, key) }

// namesSecret reports whether a key or environment variable names a secret. It is generous: a mistyped "tokne" must
// not reveal what "token" would hide.
func namesSecret(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 || slices.Contains([]string{"file", "path", "dir", "env"}, words[len(words)-1]) {
		return false // gives the location of a secret
	}
	for i, word := range words {
		if isSecretWord(word) || word == "key" && (len(words) == 1 || i > 0 && slices.Contains(secretKeys(), words[i-1])) {
			return true
		}
	}
	return isSecretWord(strings.Join(words, ""))
}

// namesAmount distinguishes maxTokens, a count, from a token that is a number.
func namesAmount(key string) bool {
	return slices.Contains(wordsOf(key), "tokens")
}

func isSecretWord(word string) bool {
	for _, secret := range []string{"token", "secret", "password", "passwd", "passphrase", "credential", "authorization", "apikey", "cookie", "bearer"} {
		if word == secret+"s" || distance(word, secret, 1) <= 1 {
			return true
		}
	}
	return slices.Contains([]string{"pwd", "pass", "pat", "dsn", "webhook", "jwt", "토큰", "비밀번호", "패스워드", "암호"}, word)
}

// secretKeys are the words that turn "key" into a secret.
func secretKeys() []string {
	return []string{"api", "access", "private", "secret", "signing", "encryption", "auth", "service", "account", "client", "master", "license"}
}

// wordsOf splits maxTokens, max_tokens and MAX-TOKENS into max, tokens.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case upper && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return words
}
