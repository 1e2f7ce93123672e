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

// door is an Access that is in force. It does not change.
type door struct {
	Access
	configured bool // there is a secret, or none is needed
	secret     [sha256.Size]byte
	tokens     *protocol.Tokens // of devices
}

// newDoor puts an Access in force. last is the one before, nil if there is none: with the same secret the same tokens go on, whose key is
// dear.
func newDoor(a Access, last *door) *door {
	secret := a.Token.Reveal()
	switch a.Mode {
	case ModePassword:
		secret = a.Password.Reveal()
	case ModeNone:
		secret = ""
	}
	d := &door{Access: a, configured: secret != "" || a.Mode == ModeNone, secret: sha256.Sum256([]byte(secret))}
	if last != nil && last.secret == d.secret {
		d.tokens = last.tokens
	} else {
		d.tokens = protocol.NewTokens(secret)
	}
	return d
}

// method is how a client has been let in.
type method string

const (
	byNothing     method = ModeNone
	byToken       method = ModeToken
	byPassword    method = ModePassword
	byDeviceToken method = "device-token"
)

// opens reports whether what a client shows lets it in, and otherwise why not. A device that is not nil has proved who it is. The secret may
// be shown as token or as password, as newer clients do.
func (d *door) opens(c *protocol.Connect) (how method, why protocol.AuthReason) {
	switch {
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

// is reports whether a text is the secret. How long it takes says nothing about the secret.
func (d *door) is(text string) bool {
	shown := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(shown[:], d.secret[:]) == 1
}

// knows reports whether a device shows a token of its own, and what is wrong with it.
func (d *door) knows(c *protocol.Connect) (why protocol.AuthReason, shown bool) {
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

func (d *door) missing(c *protocol.Connect) protocol.AuthReason {
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

// showsSecret reports whether a client shows anything that could be one.
func showsSecret(a *protocol.Credentials) bool {
	return cmp.Or(a.Token, a.DeviceToken, a.Password) != ""
}
