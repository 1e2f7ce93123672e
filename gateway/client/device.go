package client

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
)

// Device is an identity that a gateway recognizes.
type Device struct{ Key ed25519.PrivateKey }

// ID is the device's id: the hash of its public key.
func (d *Device) ID() string {
	sum := sha256.Sum256(d.public())
	return hex.EncodeToString(sum[:])
}

func (d *Device) public() ed25519.PublicKey { return d.Key.Public().(ed25519.PublicKey) }

// shown is the device's signed proof of identity.
type shown struct {
	ID        string `json:"id"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"`
	SignedAt  int64  `json:"signedAt"`
	Nonce     string `json:"nonce"`
}

// show signs the connect request with the gateway's own time, so that a wrong local clock does not matter.
func (d *Device) show(c *connect, ch challenge) *shown {
	token := ""
	if c.Auth != nil {
		token = c.Auth.Token
	}
	signed := strings.Join([]string{
		"v3", d.ID(), c.Client.ID, c.Client.Mode, c.Role, strings.Join(c.Scopes, ","), strconv.FormatInt(ch.TS, 10), token, ch.Nonce,
		plain(c.Client.Platform), plain(c.Client.Family),
	}, "|")
	return &shown{
		ID: d.ID(), PublicKey: base64.RawURLEncoding.EncodeToString(d.public()), SignedAt: ch.TS, Nonce: ch.Nonce,
		Signature: base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.Key, []byte(signed))),
	}
}

func plain(text string) string { return strings.ToLower(strings.TrimSpace(text)) }
