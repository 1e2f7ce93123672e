package wire

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// Modes of Access.
const (
	ModeToken    = "token"
	ModePassword = "password"
	ModeNone     = "none"
)

// activeAccess is an Access in force. It is immutable.
type activeAccess struct {
	Access
	configured bool // there is a secret, or none is needed
	secret     [sha256.Size]byte
	tokens     *protocol.Tokens // for devices
	worker     [sha256.Size]byte
}

// newActiveAccess puts an Access in force. last is the previous one, or nil: with the same secret its tokens are reused,
// because deriving their key is expensive.
func newActiveAccess(a Access, last *activeAccess) *activeAccess {
	secret := a.Token.Reveal()
	switch a.Mode {
	case ModePassword:
		secret = a.Password.Reveal()
	case ModeNone:
		secret = ""
	}
	d := &activeAccess{Access: a, configured: secret != "" || a.Mode == ModeNone, secret: sha256.Sum256([]byte(secret)), worker: sha256.Sum256([]byte(a.Worker.Reveal()))}
	if last != nil && last.secret == d.secret {
		d.tokens = last.tokens
	} else {
		d.tokens = protocol.NewTokens(secret)
	}
	return d
}

type method string

const (
	byNothing     method = ModeNone
	byToken       method = ModeToken
	byPassword    method = ModePassword
	byDeviceToken method = "device-token"
)

// opens returns how a client's credentials authorize it, or why not. A non-nil device has proven its identity. The
// secret is accepted as token or as password, as newer clients send it.
func (d *activeAccess) opens(c *protocol.Connect) (how method, why protocol.AuthReason) {
	switch {
	case c.Role == protocol.RoleWorker:
		return d.opensToWorker(c)
	case d.Mode == ModeNone:
		return byNothing, ""
	case !d.configured && d.Mode == ModePassword:
		return "", protocol.PasswordNotConfigured
	case !d.configured:
		return "", protocol.TokenNotConfigured
	case d.is(c.Auth.Token), d.is(c.Auth.Password):
		if d.Mode == ModePassword {
			return byPassword, ""
		}
		return byToken, ""
	}
	if c.Device != nil {
		why, shown := d.knows(c)
		switch ownOnly := c.Auth.Token == "" || c.Auth.Token == c.Auth.DeviceToken; {
		case shown && why == "":
			return byDeviceToken, ""
		case shown && (ownOnly || why == protocol.ScopeMismatch):
			return "", why
		}
	}
	return "", d.missing(c)
}

// opensToWorker admits a worker with the token of workers, which opens nothing else.
func (d *activeAccess) opensToWorker(c *protocol.Connect) (how method, why protocol.AuthReason) {
	shown := sha256.Sum256([]byte(c.Auth.Token))
	switch {
	case d.Worker == "":
		return "", protocol.TokenNotConfigured
	case c.Auth.Token == "":
		return "", protocol.TokenMissing
	case subtle.ConstantTimeCompare(shown[:], d.worker[:]) != 1:
		return "", protocol.TokenMismatch
	}
	return byToken, ""
}

// is compares a text with the secret in constant time.
func (d *activeAccess) is(text string) bool {
	shown := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(shown[:], d.secret[:]) == 1
}

// knows reports whether a device's own token is valid, and what is wrong with it.
func (d *activeAccess) knows(c *protocol.Connect) (why protocol.AuthReason, shown bool) {
	for _, token := range []string{c.Auth.DeviceToken, c.Auth.Token} {
		if token == "" {
			continue
		}
		shown = true
		err := d.tokens.Verify(token, c.Device.ID, c.Role, c.Scopes)
		switch {
		case err == nil:
			return "", true
		case errors.Is(err, protocol.ErrTokenScope):
			return protocol.ScopeMismatch, true
		}
	}
	return protocol.DeviceTokenMismatch, shown
}

func (d *activeAccess) missing(c *protocol.Connect) protocol.AuthReason {
	switch {
	case d.Mode == ModePassword && c.Auth.Password == "":
		return protocol.PasswordMissing
	case d.Mode == ModePassword:
		return protocol.PasswordMismatch
	case c.Auth.Token == "":
		return protocol.TokenMissing
	default:
		return protocol.TokenMismatch
	}
}

// showsSecret reports whether a client presents any credential.
func showsSecret(a *protocol.Credentials) bool {
	return cmp.Or(a.Token, a.DeviceToken, a.Password) != ""
}
