package ui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// CodeFragment is the beginning of the fragment of a link with a one-time code. Fragments reach no server, proxy log or Referer.
const CodeFragment = "#code="

// CodeTime is how long a one-time code works.
const CodeTime = time.Minute

// Limits of codes that were given out and not used, of which older ones are dropped, and of challenges that were answered in a minute.
const (
	maxCodes    = 64
	maxAnswered = 1024
)

// codes are texts that were given out and work once.
type codes struct {
	now  func() time.Time
	most int

	mu   sync.Mutex
	open []oneTime
}

type oneTime struct {
	digest  [sha256.Size]byte
	expires time.Time
}

// make returns a new text of 128 random bits or more.
func (c *codes) make() string {
	text := rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.most {
		c.open = append(c.open[:0], c.open[1:]...)
	}
	c.open = append(c.open, oneTime{sha256.Sum256([]byte(text)), c.now().Add(CodeTime)})
	return text
}

// use reports whether a text was given out and not used before, and takes it back.
func (c *codes) use(text string) bool {
	digest, now := sha256.Sum256([]byte(text)), c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	kept := c.open[:0]
	for _, o := range c.open {
		switch {
		case hmac.Equal(o.digest[:], digest[:]):
			found = found || now.Before(o.expires)
		case now.Before(o.expires):
			kept = append(kept, o)
		}
	}
	c.open = kept
	return found
}

// challenges are texts that work once. Only those that were answered are kept: anyone may ask for one, and must not push out another's.
type challenges struct {
	now func() time.Time
	key string // of this process

	mu       sync.Mutex
	answered map[string]time.Time // when they expire
}

// make returns a new challenge: "<seconds since 1970>.<nonce>.<HMAC of both>".
func (c *challenges) make() string {
	said := strconv.FormatInt(c.now().Unix(), 10) + "." + rand.Text()
	return said + "." + c.code(said)
}

func (c *challenges) code(said string) string {
	mac := hmac.New(sha256.New, []byte(c.key))
	mac.Write([]byte(said))
	return hex.EncodeToString(mac.Sum(nil))
}

// use reports whether a challenge was made here less than CodeTime ago and not used before.
func (c *challenges) use(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || !hmac.Equal([]byte(c.code(parts[0]+"."+parts[1])), []byte(parts[2])) {
		return false
	}
	seconds, err := strconv.ParseInt(parts[0], 10, 64)
	now, expires := c.now(), time.Unix(seconds, 0).Add(CodeTime)
	if err != nil || !now.Before(expires) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.answered, func(_ string, expires time.Time) bool { return !now.Before(expires) })
	if _, used := c.answered[text]; used || len(c.answered) >= maxAnswered {
		return false
	}
	c.answered[text] = expires
	return true
}

// Proof answers a challenge of POST /ui/code. Who knows the key of the state directory owns the server. at is the server's address as
// the command reached it: a program at another address cannot have a challenge of this server answered.
func Proof(key []byte, challenge string, at netip.AddrPort) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("openclawd open " + plainAddress(at).String() + " " + challenge))
	return hex.EncodeToString(mac.Sum(nil))
}

// plainAddress is an address in the form that both ends of a connection know.
func plainAddress(at netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// isProven reports whether a proof is right for the address that the request came to.
func isProven(r *http.Request, key []byte, said codeOrder) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || len(key) == 0 {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && hmac.Equal([]byte(Proof(key, said.Challenge, at)), []byte(said.Proof))
}

// NewCode returns a code that opens a session once, within CodeTime.
func (s *Site) NewCode() string { return s.codes.make() }

// codeOrder is the body of POST /ui/code.
type codeOrder struct {
	Challenge string `json:"challenge"`
	Proof     string `json:"proof"`
}

// codeAnswer is the answer of POST /ui/code.
type codeAnswer struct {
	Code             string `json:"code"`
	ExpiresInSeconds int    `json:"expiresInSeconds"`
	LoginRequired    bool   `json:"loginRequired"`
}

// serveCode gives a one-time code to the server's owner, for openclawd open. Without a proof it answers 401 with a challenge. Wrong proofs lock
// out no address: 256 bits cannot be guessed, and the owner must not be shut out by others.
func (s *Site) serveCode(w http.ResponseWriter, r *http.Request) {
	if !allow(w, r, http.MethodPost) {
		return
	}
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		refuse(w, crossSite("Origin", "pages get no codes: run openclawd open"))
		return
	}
	var said codeOrder
	if refused := readBody(w, r, &said); refused != nil {
		refuse(w, refused)
		return
	}
	access := s.opts.Access()
	if said.Challenge == "" {
		refuse(w, &problem{Status: http.StatusUnauthorized, Code: "proof_required", Message: "Unauthorized",
			Hint:      "run openclawd open as the user that runs the server",
			Challenge: s.challenges.make(), LoginRequired: access.Open == None})
		return
	}
	if !isProven(r, access.Key, said) || !s.challenges.use(said.Challenge) {
		s.opts.Logger.Warn("invalid ownership proof for openclawd open", "client", clientOf(r), "peer", r.RemoteAddr)
		refuse(w, &problem{Status: http.StatusUnauthorized, Code: "wrong_proof", Message: "Unauthorized", Field: "proof",
			Hint: "run openclawd open on the server's machine as the user that runs it, with its --state-dir, and not through a forwarded port"})
		return
	}
	writeJSON(w, http.StatusOK, codeAnswer{s.NewCode(), int(CodeTime.Seconds()), access.Open == None})
}
