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

// Why a device token is rejected.
var (
	ErrTokenMismatch = errors.New("the device token is not one of this gateway for this device and role")
	ErrTokenScope    = errors.New("the device token is for fewer scopes")
)

// tokenRounds follows OWASP's recommendation for PBKDF2 with SHA-256, to slow down guessing the secret behind a token:
// a password may be weak, and a device stores its token in a file.
const tokenRounds = 600_000

const maxToken = 16 << 10

// Tokens are issued to devices that connected with the gateway's secret, and let them connect again without it.
// Nothing is stored: a token contains its claims and a MAC made with the secret. So tokens survive restarts, and all
// of them become invalid when the secret changes.
//
// A token is odt1.<claims>.<code>: claims are JSON in base64url (role, scopes and time); code is HMAC-SHA-256 over
// claims and device. Another format would have another prefix. The key is derived from the secret on first use, which
// takes a fraction of a second.
type Tokens struct{ key func() []byte }

// NewTokens returns the token issuer for a secret. Without a secret there are no tokens: Issue returns "", Verify
// rejects all.
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

// Issue returns a token for a device, "" if none can be issued.
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

// Verify returns why a token does not authorize a device for role and scopes: ErrTokenMismatch or ErrTokenScope; nil
// if it does.
func (t *Tokens) Verify(token, deviceID, role string, scopes []string) error {
	if len(token) > maxToken || !strings.HasPrefix(token, tokenForm+".") {
		return ErrTokenMismatch // not our format; skip deriving the key
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

// code is the MAC of claims for a device. It is compared as text: several base64 texts decode to the same bytes.
func code(key []byte, said, deviceID string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(said))
	mac.Write([]byte{0})
	mac.Write([]byte(deviceID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
