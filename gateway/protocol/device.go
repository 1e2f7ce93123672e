package protocol

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// SignatureSkew is how far a device's signed time may be from ours.
const SignatureSkew = 2 * time.Minute

// Device is a device identity with its signature.
type Device struct {
	ID        string // the SHA-256 of the key, lower-case hex
	PublicKey string // ed25519, base64url
	Signature string // base64url
	SignedAt  int64  // ms; clients of protocol 4 sign the challenge's time
	Nonce     string // of the challenge
}

// Verify returns why a device's identity is not proven, nil if it is. c is the request containing it, nonce the one of
// this connection's challenge. The signature covers the request, so it cannot be reused. Both forms are accepted: v3,
// and the Control UI's v2, which leaves out the platform.
func (d *Device) Verify(c *Connect, nonce string, now time.Time) *Error {
	key, keyIsRight := decode64(d.PublicKey, ed25519.PublicKeySize)
	hash := sha256.Sum256(key)
	signature, signatureIsRight := decode64(d.Signature, ed25519.SignatureSize)
	said := strings.TrimSpace(d.Nonce)
	skew := now.UnixMilli() - d.SignedAt
	switch {
	case !keyIsRight:
		return deviceError(c, "device-public-key", "device public key invalid", "DEVICE_AUTH_PUBLIC_KEY_INVALID")
	case !equal(hex.EncodeToString(hash[:]), d.ID):
		return deviceError(c, "device-id-mismatch", "device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH")
	case d.SignedAt < 0 || max(skew, -skew) > SignatureSkew.Milliseconds():
		return deviceError(c, "device-signature-stale", "device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED")
	case said == "":
		return deviceError(c, "device-nonce-missing", "device nonce required", "DEVICE_AUTH_NONCE_REQUIRED")
	case !equal(said, nonce):
		return deviceError(c, "device-nonce-mismatch", "device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH")
	case !signatureIsRight || !ed25519.Verify(key, []byte(d.signed(c, "v3", said)), signature) &&
		!ed25519.Verify(key, []byte(d.signed(c, "v2", said)), signature):
		return deviceError(c, "device-signature", "device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID")
	}
	return nil
}

// signed is the text a device signs.
func (d *Device) signed(c *Connect, form, nonce string) string {
	parts := []string{
		form, d.ID, c.Client.ID, c.Client.Mode, c.Role, strings.Join(c.Scopes, ","), strconv.FormatInt(d.SignedAt, 10),
		cmp.Or(c.Auth.Token, c.Auth.DeviceToken, c.Auth.BootstrapToken), nonce,
	}
	if form == "v3" {
		parts = append(parts, plain(c.Client.Platform), plain(c.Client.DeviceFamily))
	}
	return strings.Join(parts, "|")
}

// plain normalizes a name as clients do before signing: ASCII letters in lower case.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, strings.TrimSpace(name))
}

// decode64 decodes standard or URL base64, padded or not.
func decode64(text string, size int) ([]byte, bool) {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	return decoded, err == nil && len(decoded) == size
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// deviceError builds a refusal for the client's version: protocol 3 has one code for all of them.
func deviceError(c *Connect, reason, message, code string) *Error {
	if c.Protocol() < SinceAdvice {
		code = "DEVICE_AUTH_INVALID"
	}
	return &Error{Code: CodeInvalidRequest, Message: message, Details: refusal{Code: code, Reason: reason}}
}
