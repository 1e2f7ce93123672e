package protocol_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"pgregory.net/rapid"
)

// Making a key is slow on purpose, so the tests share two.
var (
	ours  = sync.OnceValue(func() *protocol.Tokens { return protocol.NewTokens("secret of the gateway") })
	other = sync.OnceValue(func() *protocol.Tokens { return protocol.NewTokens("secret of another") })
	at    = time.UnixMilli(1795227854166)
)

func TestDeviceTokenLetsItsDeviceInAgain(t *testing.T) {
	t.Parallel()
	token := ours().Issue("device", "operator", []string{"operator.read", "operator.write", "operator.read"}, at)
	restarted := protocol.NewTokens("secret of the gateway")
	for _, scopes := range [][]string{nil, {"operator.read"}, {"operator.write", "operator.read"}} {
		if err := restarted.Verify(token, "device", "operator", scopes); err != nil {
			t.Errorf("%v after a restart: %v", scopes, err)
		}
	}
	admin := ours().Issue("device", "operator", []string{"operator.admin"}, at)
	if err := ours().Verify(admin, "device", "operator", []string{"operator.pairing", "operator.read"}); err != nil {
		t.Errorf("admin covers all: %v", err)
	}
	if again := restarted.Issue("device", "operator", []string{"operator.write", "operator.read"}, at); again != token {
		t.Errorf("the same is given otherwise: %s, %s", again, token)
	}
	if strings.ContainsAny(token, " \n|,+/=") || len(token) > 300 {
		t.Errorf("a token that does not fit anywhere: %s", token)
	}
}

// Another version of the program must take the tokens that devices have. This one was made by Node with the parameters that are documented.
func TestFormOfDeviceTokensStays(t *testing.T) {
	t.Parallel()
	const want = "odt1.eyJyIjoib3BlcmF0b3IiLCJzIjpbIm9wZXJhdG9yLnJlYWQiXSwidCI6MTc5NTIyNzg1NDE2Nn0._aBeSUroILsSHs6QklFbkN7Y_1FvxFqZuPNIECEY7Kk"
	if got := ours().Issue("device", "operator", []string{"operator.read"}, at); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := ours().Verify(want, "device", "operator", []string{"operator.read"}); err != nil {
		t.Error(err)
	}
}

func TestDeviceTokenIsGoodForNothingElse(t *testing.T) {
	t.Parallel()
	token := ours().Issue("device", "operator", []string{"operator.read"}, at)
	for name, c := range map[string]struct {
		tokens              *protocol.Tokens
		token, device, role string
		scopes              []string
		want                error
	}{
		"another secret":      {other(), token, "device", "operator", nil, protocol.ErrTokenMismatch},
		"no secret":           {protocol.NewTokens(""), token, "device", "operator", nil, protocol.ErrTokenMismatch},
		"another device":      {ours(), token, "devicf", "operator", nil, protocol.ErrTokenMismatch},
		"no device":           {ours(), token, "", "operator", nil, protocol.ErrTokenMismatch},
		"another role":        {ours(), token, "device", "node", nil, protocol.ErrTokenMismatch},
		"more scopes":         {ours(), token, "device", "operator", []string{"operator.read", "operator.write"}, protocol.ErrTokenScope},
		"scopes of admin":     {ours(), token, "device", "operator", []string{"operator.admin"}, protocol.ErrTokenScope},
		"none":                {ours(), "", "device", "operator", nil, protocol.ErrTokenMismatch},
		"the secret itself":   {ours(), "secret of the gateway", "device", "operator", nil, protocol.ErrTokenMismatch},
		"another form":        {ours(), "odt2" + token[4:], "device", "operator", nil, protocol.ErrTokenMismatch},
		"no code":             {ours(), token[:strings.LastIndexByte(token, '.')], "device", "operator", nil, protocol.ErrTokenMismatch},
		"an empty code":       {ours(), token[:strings.LastIndexByte(token, '.')+1], "device", "operator", nil, protocol.ErrTokenMismatch},
		"no claims":           {ours(), "odt1.", "device", "operator", nil, protocol.ErrTokenMismatch},
		"more behind":         {ours(), token + "A", "device", "operator", nil, protocol.ErrTokenMismatch},
		"a line behind":       {ours(), token + "\n", "device", "operator", nil, protocol.ErrTokenMismatch},
		"too long to look at": {ours(), "odt1." + strings.Repeat("a", 1<<20), "device", "operator", nil, protocol.ErrTokenMismatch},
		"claims of another one": {ours(), ours().Issue("device", "operator", []string{"operator.admin"}, at)[:60] + token[60:], "device", "operator", nil,
			protocol.ErrTokenMismatch},
	} {
		if err := c.tokens.Verify(c.token, c.device, c.role, c.scopes); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestNoTokenIsGivenWithoutSecretOrDevice(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{
		"no secret":       protocol.NewTokens("").Issue("device", "operator", nil, at),
		"no device":       ours().Issue("", "operator", nil, at),
		"too many scopes": ours().Issue("device", "operator", []string{strings.Repeat("s", 20_000)}, at),
	} {
		if token != "" {
			t.Errorf("%s: %.80s", name, token)
		}
	}
}

func TestChangedTokenIsRefused(t *testing.T) {
	t.Parallel()
	token := ours().Issue("device", "operator", []string{"operator.read"}, at)
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(token)-1).Draw(t, "where")
		b := rapid.Byte().Draw(t, "byte")
		if token[i] == b {
			return
		}
		changed := token[:i] + string([]byte{b}) + token[i+1:]
		if err := ours().Verify(changed, "device", "operator", nil); !errors.Is(err, protocol.ErrTokenMismatch) {
			t.Fatalf("%q: %v", changed, err)
		}
	})
}

func FuzzVerifyToken(f *testing.F) {
	token := ours().Issue("device", "operator", []string{"operator.read"}, at)
	for _, seed := range []string{token, token[:40], "odt1..", "odt1.e30.", "", ".", token + "."} {
		f.Add(seed, "device", "operator", "operator.read")
	}
	f.Fuzz(func(t *testing.T, text, device, role, scope string) {
		err := ours().Verify(text, device, role, []string{scope})
		switch {
		case err == nil:
			if text != token || device != "device" || role != "operator" || scope != "operator.read" {
				t.Errorf("%q lets %q in as %q with %q", text, device, role, scope)
			}
		case !errors.Is(err, protocol.ErrTokenMismatch) && !errors.Is(err, protocol.ErrTokenScope):
			t.Errorf("%q: %v", text, err)
		}
	})
}

func BenchmarkVerifyToken(b *testing.B) {
	token := ours().Issue("device", "operator", []string{"operator.read"}, at)
	b.ReportAllocs()
	for b.Loop() {
		if err := ours().Verify(token, "device", "operator", []string{"operator.read"}); err != nil {
			b.Fatal(err)
		}
	}
}
