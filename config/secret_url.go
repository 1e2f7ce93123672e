package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// address matches a URL in a text: all of a text without spaces, else up to a quote.
var address = regexp.MustCompile("^[A-Za-z][A-Za-z0-9+.-]*://\\S+$|[A-Za-z][A-Za-z0-9+.-]*://[^\\s\"'<>`]+")

var port = regexp.MustCompile(`^\d*$`)

// longSecret is the length from which any value in a URL is treated as a secret everywhere, in bytes.
const longSecret = 16

// maskURLs removes credentials from URLs in a text: user info and query values. References to variables stay.
func maskURLs(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return address.ReplaceAllStringFunc(s, func(found string) string { return inURL(found, func(string, string) string { return masked }) })
}

// urlSecrets visits what maskURLs removes and what must be hidden elsewhere too, encoded and decoded.
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

// inURL visits the parts of a URL that may be secrets: user info without a name, query and fragment values with
// theirs.
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

// splitsPassword reports whether the text before the first of /?# in a URL is a user and the start of a password that
// contains such a character: what follows the colon is no port.
func splitsPassword(authority string) bool {
	_, after, both := strings.Cut(authority, ":")
	return both && !strings.HasPrefix(authority, "[") && !strings.Contains(authority, "@") && !port.MatchString(after) && !isReference(after)
}

// maskQuery masks the query and, if it looks like one, the fragment.
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
		at := strings.Index(query, pair) // separators stay
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

// maskPart keeps empty values, references to variables, and masked values.
func maskPart(name, value string, mask func(name, value string) string) string {
	if value == "" || value == masked || value == Redacted || isReference(value) {
		return value
	}
	return mask(name, value)
}

// secretParameters are query parameters that grant access, in addition to those of namesSecret.
func secretParameters() []string {
	return []string{"key", "sig", "signature", "code", "auth", "sas", "pw", "hash", "hmac", "login", "user", "username", "session", "sid"}
}

// plainParameters are query parameters that are not secret and help to identify an address.
func plainParameters() []string {
	return []string{"api-version", "api_version", "apiversion", "v", "ver", "version", "region", "location", "lang", "language", "locale", "model",
		"deployment", "format", "type", "mode", "limit", "page", "timeout", "sslmode", "charset", "stream", "debug"}
}
