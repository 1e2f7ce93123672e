package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// address is a URL wherever it stands in a text: all of it where it has no space, else as far as it goes before a quote.
var address = regexp.MustCompile("^[A-Za-z][A-Za-z0-9+.-]*://\\S+$|[A-Za-z][A-Za-z0-9+.-]*://[^\\s\"'<>`]+")

// port is what a host may end with.
var port = regexp.MustCompile(`^\d*$`)

// longSecret is from how many bytes on a value in a URL is taken for a secret whatever it is called, so that it shows nowhere else either.
const longSecret = 16

// maskURLs takes out of the URLs of a text what lets those in who know it: who asks, and what the query says. References to variables stay.
func maskURLs(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return address.ReplaceAllStringFunc(s, func(found string) string { return inURL(found, func(string, string) string { return masked }) })
}

// urlSecrets visits what maskURLs takes out and what must not show elsewhere either, as it is written and as it is meant.
func urlSecrets(s string, visit func(string)) {
	if !strings.Contains(s, "://") {
		return
	}
	for _, found := range address.FindAllString(s, -1) {
		inURL(found, func(name, value string) string {
			if name == "" || namesSecret(name) || len(value) >= longSecret || slices.Contains(secretParameters(), strings.ToLower(name)) {
				visit(value)
				if meant, err := url.QueryUnescape(value); err == nil && meant != value {
					visit(meant)
				}
			}
			return value
		})
	}
}

// inURL gives each part of a URL that may be a secret to mask: those of the user info without a name, those of the query and the fragment with theirs.
func inURL(s string, mask func(name, value string) string) string {
	scheme, rest, _ := strings.Cut(s, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	if at := strings.LastIndex(rest, "@"); at > end && splitsPassword(rest[:end]) {
		end = len(rest)
		if i := strings.IndexAny(rest[at:], "/?#"); i >= 0 {
			end = at + i
		}
	}
	authority, rest := rest[:end], rest[end:]
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, password, both := strings.Cut(authority[:at], ":")
		who := maskPart("", user, mask)
		if both && password != "" {
			who += ":" + maskPart("", password, mask)
		}
		authority = who + authority[at:]
	}
	return scheme + "://" + authority + maskQuery(rest, mask)
}

// splitsPassword reports whether what stands before the first of /?# in a URL is a user and the beginning of a password that has such a sign in it:
// what follows its colon is no port.
func splitsPassword(authority string) bool {
	_, after, both := strings.Cut(authority, ":")
	return both && !strings.HasPrefix(authority, "[") && !strings.Contains(authority, "@") && !port.MatchString(after) && !isReference(after)
}

// maskQuery masks what follows ? and, where it is like a query, what follows #.
func maskQuery(rest string, mask func(name, value string) string) string {
	rest, fragment, has := strings.Cut(rest, "#")
	if path, query, asks := strings.Cut(rest, "?"); asks {
		rest = path + "?" + maskPairs(query, mask)
	}
	switch {
	case !has:
		return rest
	case strings.Contains(fragment, "="):
		fragment = maskPairs(fragment, mask)
	}
	return rest + "#" + fragment
}

func maskPairs(query string, mask func(name, value string) string) string {
	pairs := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	if len(pairs) == 0 {
		return query
	}
	var b strings.Builder
	for _, pair := range pairs {
		at := strings.Index(query, pair) // what lies between the pairs stays as it is
		b.WriteString(query[:at])
		query = query[at+len(pair):]
		name, value, both := strings.Cut(pair, "=")
		switch {
		case !both:
			b.WriteString(maskPart("", pair, mask))
		case slices.Contains(plainParameters(), strings.ToLower(name)):
			b.WriteString(pair)
		default:
			b.WriteString(name + "=" + maskPart(name, value, mask))
		}
	}
	b.WriteString(query)
	return b.String()
}

// maskPart leaves what says nothing: nothing, a reference to a variable, and what is masked already.
func maskPart(name, value string, mask func(name, value string) string) string {
	if value == "" || value == masked || value == Redacted || isReference(value) {
		return value
	}
	return mask(name, value)
}

// secretParameters are those of queries that let in who knows them, beside those whose names namesSecret knows.
func secretParameters() []string {
	return []string{"key", "sig", "signature", "code", "auth", "sas", "pw", "hash", "hmac", "login", "user", "username", "session", "sid"}
}

// plainParameters are those of which the value is no secret, and is needed to see what an address is.
func plainParameters() []string {
	return []string{"api-version", "api_version", "apiversion", "v", "ver", "version", "region", "location", "lang", "language", "locale", "model",
		"deployment", "format", "type", "mode", "limit", "page", "timeout", "sslmode", "charset", "stream", "debug"}
}
