package coordination

import (
	"regexp"
	"strings"
	"sync"
)

// masked replaces a secret.
const masked = "***"

// secretRule finds one kind of secret. Texts without one of its hints, in any case, are skipped; a rule without hints needs a long word.
type secretRule struct {
	hints  []string
	secret *regexp.Regexp
	mask   func(match []string) string
}

func wholly([]string) string { return masked }

// The rule for tokens of three parts joined by dots, such as Discord's, and their minimum size in bytes.
const (
	dottedTokenRule     = 0
	shortestDottedToken = 23 + 1 + 6 + 1 + 27
)

var secretRules = [...]secretRule{
	dottedTokenRule: {nil, regexp.MustCompile(`\b[A-Za-z0-9_-]{23,30}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,45}\b`), wholly},
	{[]string{"private key-----"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`), wholly},
	{[]string{"://"}, regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@"']*):([^\s/?#"']+)@`), func(m []string) string { return m[1] + ":" + masked + "@" }},
	{[]string{"discord"}, regexp.MustCompile(`(discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+)/[A-Za-z0-9_-]+`), func(m []string) string { return m[1] + "/" + masked }},
	{[]string{"authorization"}, regexp.MustCompile(`(?i)(authorization\\?["']?\s*[:=]\s*\\?["']?)((?:bearer|basic|bot|token|digest)\s+)?([!#-&(-+\--\[\]-~]{3,})`), maskHeader},
	{[]string{"bearer"}, regexp.MustCompile(`(?i)\b(bearer\s+)([A-Za-z0-9._~+/=-]{8,})`), func(m []string) string { return m[1] + maskCredential(m[2]) }},
	{[]string{"sk-", "sk_", "pk-", "pk_", "rk-", "rk_"}, regexp.MustCompile(`\b[srp]k[-_][A-Za-z0-9_-]{16,}`), wholly},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`), wholly},
	{[]string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`), wholly},
	{[]string{"xox", "xapp-"}, regexp.MustCompile(`\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}`), wholly},
	{[]string{"akia", "asia"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), wholly},
	{[]string{"aiza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`), wholly},
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), wholly},
	{
		[]string{"passw", "pwd", "secret", "token", "key", "credential", "비밀번호", "패스워드", "토큰"},
		regexp.MustCompile(`(?i)((?:[A-Za-z0-9_.-]*(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|credential)|비밀번호|패스워드|토큰)\\?["']?)(\s*[:=]\s*\\?["']?)([!#-&(-+\--:<-\[\]-~]{6,})`),
		func(m []string) string { return m[1] + m[2] + maskValue(m[1], m[2], m[3]) },
	},
}

// secretHints finds the hints of all rules at once; a hint's number gives its rule.
var secretHints = sync.OnceValues(newSecretHints)

func newSecretHints() (hints *matcher, rules []int) {
	var texts []string
	for i := range secretRules {
		for _, hint := range secretRules[i].hints {
			texts, rules = append(texts, hint), append(rules, i)
		}
	}
	return newMatcher(texts, func(b byte) byte { return b }), rules
}

// Mask replaces what looks like a secret by "***": private keys, passwords in URLs, webhook addresses, authorization headers, tokens of
// well-known services, JSON web tokens, and values after names such as password, token or api_key. It is idempotent. It is a safety net
// and cannot guarantee that no secret is left.
func Mask(text string) string {
	var suspects termSet
	hints, rules := secretHints()
	state, word := 0, 0
	for i := range len(text) {
		b := text[i]
		state = int(hints.next[state*hints.columns+int(hints.class[b])])
		for _, hint := range hints.ends[hints.accept[state]] {
			suspects.add(rules[hint])
		}
		if word++; !isWordByte(b) && b != '.' && b != '-' {
			word = 0
		} else if word == shortestDottedToken {
			suspects.add(dottedTokenRule)
		}
	}
	suspects.each(func(rule int) bool {
		text = replaceEach(secretRules[rule].secret, text, secretRules[rule].mask)
		return true
	})
	return text
}

func replaceEach(re *regexp.Regexp, text string, mask func([]string) string) string {
	matches := re.FindAllStringSubmatchIndex(text, -1)
	if matches == nil {
		return text
	}
	var b strings.Builder
	last := 0
	for _, m := range matches {
		groups := make([]string, len(m)/2)
		for g := range groups {
			if m[2*g] >= 0 {
				groups[g] = text[m[2*g]:m[2*g+1]]
			}
		}
		b.WriteString(text[last:m[0]])
		b.WriteString(mask(groups))
		last = m[1]
	}
	b.WriteString(text[last:])
	return b.String()
}

// maskCredential skips phrases such as "bearer authentication".
func maskCredential(value string) string {
	if len(value) < 20 && isWord(value) {
		return value
	}
	return masked
}

// maskHeader skips prose such as "authorization: required", and keeps the scheme of a header.
func maskHeader(m []string) string {
	if m[2] == "" && isWord(m[3]) {
		return m[0]
	}
	return m[1] + m[2] + masked
}

// maskValue skips prose such as "token: invalid", but no password.
func maskValue(name, separator, value string) string {
	prose := strings.Contains(separator, ":") && !strings.ContainsAny(separator, `"'`) && isWord(value)
	if prose && !strings.Contains(strings.ToLower(name), "pass") && name != "비밀번호" && name != "패스워드" {
		return value
	}
	return masked
}

func isWord(s string) bool {
	for i := range len(s) {
		if b := lowerASCII(s[i]); b < 'a' || b > 'z' {
			return false
		}
	}
	return true
}
