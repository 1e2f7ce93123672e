package protocol_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

const nonce = "9f76c0de-0000-4000-8000-000000000001"

var signedAt = time.UnixMilli(1795227854166)

// key is a fixed one, so that signatures are the same in every run.
func key() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
}

// signedConnect is a request whose device has signed text, or what it should if text is "".
func signedConnect(version int, text string) *protocol.Connect {
	public := key().Public().(ed25519.PublicKey)
	hash := sha256.Sum256(public)
	c := &protocol.Connect{
		MinProtocol: version, MaxProtocol: version, Role: "operator", Scopes: []string{"operator.admin", "operator.read"},
		Client: protocol.Client{ID: "gateway-client", Mode: "ui", Platform: " Linux ", DeviceFamily: "PCİ"}, Auth: protocol.Credentials{Token: "T",
			DeviceToken: "D"},
		Device: &protocol.Device{ID: hex.EncodeToString(hash[:]), PublicKey: base64.RawURLEncoding.EncodeToString(public), SignedAt: signedAt.UnixMilli(),
			Nonce: nonce},
	}
	if text == "" {
		text = "v3|" + c.Device.ID + "|gateway-client|ui|operator|operator.admin,operator.read|1795227854166|T|" + nonce + "|linux|pcİ"
	}
	c.Device.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(key(), []byte(text)))
	return c
}

func TestDeviceThatHasSignedIsBelieved(t *testing.T) {
	t.Parallel()
	id := signedConnect(3, "").Device.ID
	for name, c := range map[string]*protocol.Connect{
		"form v3":                   signedConnect(3, ""),
		"form v2 of the Control UI": signedConnect(3, "v2|"+id+"|gateway-client|ui|operator|operator.admin,operator.read|1795227854166|T|"+nonce),
		"protocol 4":                signedConnect(4, ""),
		"what Node has signed": func() *protocol.Connect {
			c := signedConnect(3, "x")
			c.Device.ID = "cd8fa86afd6bf20d66d6c248647e5ecd5e778c2f78a30699d52506ce021baca8"
			c.Device.PublicKey = "gyClGXfYw4yopJJ8Zw31gh5El2GUXhXp77JqFQnSMOo"
			c.Device.Signature = "vNg3-Bh6TBLB2v14JZq0Ynr2MwuiUGgqWWySsFXn1flMNpm56ZCZyIVua-YRRDLDSDyYzGq3ui7zWy0KaIyJCA"
			return c
		}(),
		"a device token only": func() *protocol.Connect {
			c := signedConnect(4, "v2|"+id+"|gateway-client|ui|operator|operator.admin,operator.read|1795227854166|D|"+nonce)
			c.Auth.Token = ""
			return c
		}(),
		"no secret and no scopes": func() *protocol.Connect {
			c := signedConnect(3, "v3|"+id+"|gateway-client|ui|operator||1795227854166||"+nonce+"|linux|")
			c.Auth, c.Scopes, c.Client.DeviceFamily = protocol.Credentials{}, nil, ""
			return c
		}(),
		"padded base64 and a nonce with room": func() *protocol.Connect {
			c := signedConnect(3, "")
			c.Device.PublicKey = base64.StdEncoding.EncodeToString(key().Public().(ed25519.PublicKey))
			c.Device.Nonce = " " + nonce + "\n"
			return c
		}(),
	} {
		for _, now := range []time.Time{signedAt, signedAt.Add(2 * time.Minute), signedAt.Add(-2 * time.Minute)} {
			if e := c.Device.Verify(c, nonce, now); e != nil {
				t.Errorf("%s at %v: %v", name, now, e)
			}
		}
	}
}

func TestDeviceThatIsAnotherIsRefused(t *testing.T) {
	t.Parallel()
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", ed25519.SeedSize)))
	for _, c := range []struct {
		name, message, reason, code string
		now                         time.Time
		change                      func(c *protocol.Connect)
	}{
		{"another key", "device identity mismatch", "device-id-mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH", signedAt, func(c *protocol.Connect) {
			c.Device.PublicKey = base64.RawURLEncoding.EncodeToString(other.Public().(ed25519.PublicKey))
		}},
		{"an id in capitals", "device identity mismatch", "device-id-mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH", signedAt,
			func(c *protocol.Connect) { c.Device.ID = strings.ToUpper(c.Device.ID) }},
		{"no key", "device public key invalid", "device-public-key", "DEVICE_AUTH_PUBLIC_KEY_INVALID", signedAt,
			func(c *protocol.Connect) { c.Device.PublicKey = "AAAA" }},
		{"a key of other letters", "device public key invalid", "device-public-key", "DEVICE_AUTH_PUBLIC_KEY_INVALID", signedAt,
			func(c *protocol.Connect) { c.Device.PublicKey = "한" }},
		{"too late", "device signature expired", "device-signature-stale", "DEVICE_AUTH_SIGNATURE_EXPIRED",
			signedAt.Add(120*time.Second + time.Millisecond), func(*protocol.Connect) {}},
		{"too early", "device signature expired", "device-signature-stale", "DEVICE_AUTH_SIGNATURE_EXPIRED",
			signedAt.Add(-120*time.Second - time.Millisecond), func(*protocol.Connect) {}},
		{"a time without end", "device signature expired", "device-signature-stale", "DEVICE_AUTH_SIGNATURE_EXPIRED", signedAt,
			func(c *protocol.Connect) { c.Device.SignedAt = 1<<63 - 1 }},
		{"no nonce", "device nonce required", "device-nonce-missing", "DEVICE_AUTH_NONCE_REQUIRED", signedAt,
			func(c *protocol.Connect) { c.Device.Nonce = " " }},
		{"the nonce of another connection", "device nonce mismatch", "device-nonce-mismatch", "DEVICE_AUTH_NONCE_MISMATCH", signedAt,
			func(c *protocol.Connect) { c.Device.Nonce = "other" }},
		{"no signature", "device signature invalid", "device-signature", "DEVICE_AUTH_SIGNATURE_INVALID", signedAt,
			func(c *protocol.Connect) { c.Device.Signature = "x" }},
		{"a signature of another key", "device signature invalid", "device-signature", "DEVICE_AUTH_SIGNATURE_INVALID", signedAt,
			func(c *protocol.Connect) {
				c.Device.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(other, []byte("x")))
			}},
		{"more scopes than signed", "device signature invalid", "device-signature", "DEVICE_AUTH_SIGNATURE_INVALID", signedAt,
			func(c *protocol.Connect) { c.Scopes = append(c.Scopes, "operator.write") }},
		{"another role than signed", "device signature invalid", "device-signature", "DEVICE_AUTH_SIGNATURE_INVALID", signedAt,
			func(c *protocol.Connect) { c.Role = "node" }},
		{"another token than signed", "device signature invalid", "device-signature", "DEVICE_AUTH_SIGNATURE_INVALID", signedAt,
			func(c *protocol.Connect) { c.Auth.Token = "U" }},
		{"another machine than signed", "device signature invalid", "device-signature", "DEVICE_AUTH_SIGNATURE_INVALID", signedAt,
			func(c *protocol.Connect) { c.Client.Platform = "win" }},
		{"another time than signed", "device signature invalid", "device-signature", "DEVICE_AUTH_SIGNATURE_INVALID", signedAt,
			func(c *protocol.Connect) { c.Device.SignedAt++ }},
	} {
		for version, code := range map[int]string{3: "DEVICE_AUTH_INVALID", 4: c.code} {
			connect := signedConnect(version, "")
			c.change(connect)
			e := connect.Device.Verify(connect, nonce, c.now)
			if e == nil {
				t.Errorf("%s is believed", c.name)
				continue
			}
			details, _ := json.Marshal(e.Details)
			if want := fmt.Sprintf(`{"code":%q,"reason":%q}`, code, c.reason); e.Message != c.message || string(details) != want ||
				e.Code != protocol.CodeInvalidRequest {
				t.Errorf("%s, version %d: %s %s, want %s %s", c.name, version, e.Message, details, c.message, want)
			}
		}
	}
}
