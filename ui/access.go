package ui

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// Role is what a session may do. Each role may do what the roles before it may.
type Role int

// The roles.
const (
	None    Role = iota // nothing but load the page and log in
	Read                // read everything that the API answers
	Operate             // approve, reject, resend, cancel, and change what the page keeps here
	Admin               // SQL, redaction and backups, for a short time
)

var roleNames = [...]string{"none", "read", "operate", "admin"}

// String is the role's name in answers.
func (r Role) String() string { return roleNames[r] }

// MarshalText writes the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Access are the rules of access. They may change at any time.
type Access struct {
	// Open is the role of direct requests from this machine without a session; None: everyone has to log in.
	Open Role
	// Secrets open sessions. A session ends when its secret is no longer there.
	Secrets []Secret
	// Key signs cookies, and proves to the server that a command is its owner's. All sessions end when it changes.
	Key []byte
}

// Secret opens sessions for those who show it. Only its digest is known here.
type Secret struct {
	Source string            // the setting; unique, and without a dot or a space
	Name   string            // of the person or the program that has it
	Role   Role              // Read or Operate
	Admin  bool              // it also raises the session to Admin for RaisedTime
	Digest [sha256.Size]byte // SHA-256
}

// Times of sessions.
const (
	RememberedTime = 30 * 24 * time.Hour // of remembered sessions
	SessionTime    = 12 * time.Hour      // of others, which browsers also forget when they are closed
	RaisedTime     = 15 * time.Minute    // of the role Admin
)

// byCode is the source of sessions opened with a one-time code. They rest on Access.Key alone.
const byCode = "code"

// secretOf finds a shown secret. It compares all digests, so that timing reveals neither which one matches nor its length.
func (a *Access) secretOf(shown string) *Secret {
	digest := sha256.Sum256([]byte(shown))
	found := -1
	for i := range a.Secrets {
		if subtle.ConstantTimeCompare(digest[:], a.Secrets[i].Digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 || shown == "" {
		return nil
	}
	return &a.Secrets[found]
}

// secretFrom finds the secret that a session rests on.
func (a *Access) secretFrom(source string) *Secret {
	if source == byCode {
		return &Secret{Source: byCode, Name: operatorName, Role: Operate, Digest: sha256.Sum256(a.Key)}
	}
	for i := range a.Secrets {
		if a.Secrets[i].Source == source {
			return &a.Secrets[i]
		}
	}
	return nil
}

// operatorName is what sessions are called that no named secret has opened.
const operatorName = "operator"

// claim is the content of a cookie.
type claim struct {
	role    Role
	source  string
	expires time.Time
	nonce   string
}

// cookieForm is the first part of a cookie; another format would have another one.
const cookieForm = "v1"

// sign makes the text of a cookie: v1.<role>.<source>.<expiry>.<nonce>.<code>. Expiry is in seconds since 1970; code is HMAC-SHA-256 of what
// is before it, with a key derived from the secret of the source. Nothing is stored.
func (a *Access) sign(c claim, secret *Secret, logID string) string {
	said := strings.Join([]string{cookieForm, c.role.String(), c.source, strconv.FormatInt(c.expires.Unix(), 10), c.nonce}, ".")
	return said + "." + a.code(said, secret, logID)
}

func (a *Access) code(said string, secret *Secret, logID string) string {
	key, err := hkdf.Key(sha256.New, secret.Digest[:], a.Key, "ui-session-v1 "+logID, sha256.Size)
	if err != nil { // only for parameters that a stricter standard forbids
		return ""
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(said))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// maxCookie is longer than any cookie of ours.
const maxCookie = 512

// verify reads a cookie that sign has made, for this log and from a secret that still gives its role.
func (a *Access) verify(text, logID string, now time.Time) (c claim, secret *Secret, ok bool) {
	end := strings.LastIndexByte(text, '.')
	parts := strings.Split(text, ".")
	if len(text) > maxCookie || len(parts) != 6 || parts[0] != cookieForm || len(a.Key) == 0 {
		return c, nil, false
	}
	secret = a.secretFrom(parts[2])
	if secret == nil {
		return c, nil, false
	}
	want := a.code(text[:end], secret, logID)
	if want == "" || !hmac.Equal([]byte(want), []byte(text[end+1:])) {
		return c, nil, false
	}
	seconds, err := strconv.ParseInt(parts[3], 10, 64)
	c = claim{source: parts[2], expires: time.Unix(seconds, 0), nonce: parts[4]}
	switch {
	case err != nil || !now.Before(c.expires):
		return c, nil, false
	case parts[1] == secret.Role.String():
		c.role = secret.Role
	case parts[1] == Admin.String() && secret.Admin:
		c.role = Admin
	default:
		return c, nil, false
	}
	return c, secret, true
}
