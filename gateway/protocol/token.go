package protocol

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Why a device token is not taken.
var (
	ErrTokenMismatch = errors.New("the device token is not one of this gateway for this device and role")
	ErrTokenScope    = errors.New("the device token is for fewer scopes")
)

// tokenRounds make a guess at the secret behind a token as slow as OWASP asks for PBKDF2 with SHA-256: a password may be weak, and a
// device keeps its token in a file.
const tokenRounds = 600_000

// maxToken bounds what is looked at, bytes.
const maxToken = 16 << 10

// Tokens are given to devices that were let in with the gateway's secret, and let them in again without it. Nothing is kept: a token says
// what it is for, and a code made with the secret proves it. So tokens outlive restarts, and all of them die when the secret changes.
//
// A token is odt1.<claims>.<code>: claims are JSON in base64url, role, scopes and time; code is HMAC-SHA-256 over claims and device. Another
// form would have another name in front. Its key is made from the secret when it is first needed, which takes a fraction of a second.
type Tokens struct{ key func() []byte }

// NewTokens returns the tokens of a gateway with this secret. Without one there are none: Issue gives "", Verify takes nothing.
func NewTokens(secret string) *Tokens {
	if secret == "" {
		return &Tokens{func() []byte { return nil }}
	}
	return &Tokens{sync.OnceValue(func() []byte {
		key, err := pbkdf2.Key(sha256.New, secret, []byte("openclawd device token 1"), tokenRounds, sha256.Size)
		if err != nil { // only for parameters that a stricter standard forbids
			return nil
		}
		return key
	})}
}

type claims struct {
	Role   string   `json:"r"`
	Scopes []string `json:"s"`
	At     int64    `json:"t"` // ms
}

const tokenForm = "odt1"

// Issue gives a token to a device. It is "" if there can be none.
func (t *Tokens) Issue(deviceID, role string, scopes []string, at time.Time) string {
	key := t.key()
	if key == nil || deviceID == "" {
		return ""
	}
	scopes = slices.Clone(orEmpty(scopes))
	slices.Sort(scopes)
	text, err := json.Marshal(claims{role, slices.Compact(scopes), at.UnixMilli()})
	said := tokenForm + "." + base64.RawURLEncoding.EncodeToString(text)
	if token := said + "." + code(key, said, deviceID); err == nil && len(token) <= maxToken {
		return token
	}
	return ""
}

// Verify reports why a token does not let a device in as role with scopes: ErrTokenMismatch or ErrTokenScope. nil says that it does.
func (t *Tokens) Verify(token, deviceID, role string, scopes []string) error {
	if len(token) > maxToken || !strings.HasPrefix(token, tokenForm+".") {
		return ErrTokenMismatch // nothing of ours; do not make the key for it
	}
	key := t.key()
	end := strings.LastIndexByte(token, '.')
	said := token[:end]
	if key == nil || !hmac.Equal([]byte(token[end+1:]), []byte(code(key, said, deviceID))) {
		return ErrTokenMismatch
	}
	_, encoded, _ := strings.Cut(said, ".")
	var c claims
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || json.Unmarshal(text, &c) != nil || c.Role != role {
		return ErrTokenMismatch
	}
	for _, scope := range scopes {
		if !Covers(c.Scopes, scope) {
			return ErrTokenScope
		}
	}
	return nil
}

// code proves claims for a device. It is compared as text: base64 has many texts for the same bytes.
func code(key []byte, said, deviceID string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(said))
	mac.Write([]byte{0})
	mac.Write([]byte(deviceID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
